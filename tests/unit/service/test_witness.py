"""What tells of a server beside its page reaches the diagnosis of its incident."""

import msgspec
import numpy as np
import pytest

from watched_pages import START, Emulated
from whystall.model.recording import LogLine, Recording, SeriesTable, SpanRow
from whystall.model.target import Target
from whystall.service.witness import Witness
from whystall.sources.gpu import GpuRow, gpu_columns
from whystall.sources.host import HostRow

NOTHING = Recording(Target("a"), SeriesTable.empty())
XID = LogLine(START + 5, "ERROR", "kernel", None, "NVRM: Xid (PCI:0000:18:00): 79, GPU has fallen off the bus.")


def test_an_engine_that_dies_for_memory_says_so_in_its_incident():
    emulated = Emulated("oom", at=300, until=2000)
    emulated.run(480, beside=emulated.read_log)
    incident = emulated.happened[-1].incident
    assert incident.cause == "oom"
    assert incident.diagnosis is not None
    said = {evidence.id: evidence.text for evidence in incident.diagnosis.evidence}
    line = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.34 GiB."
    assert line in said["log.out_of_memory"].en
    assert line in said["log.out_of_memory"].zh
    assert "log" in incident.diagnosis.coverage.signals


def test_a_kernel_line_of_another_log_names_the_fault():
    emulated = Emulated("engine_dead", at=300, until=2000)
    emulated.run(300)
    witness = emulated.lookout.servers["a"].witness
    witness.add_kernel([msgspec.structs.replace(XID, t=emulated.now + 1)])
    assert witness.loud
    emulated.run(120)
    incident = emulated.happened[-1].incident
    assert incident.cause == "gpu_fault"
    assert not witness.loud


def test_a_throttled_gpu_is_told_by_its_exporter():
    emulated = Emulated("gpu_throttle", at=300, until=2000)
    emulated.run(480, beside=emulated.read_dcgm)
    incident = emulated.happened[0].incident
    assert incident.cause == "gpu_throttle"
    assert incident.diagnosis is not None
    assert "gpu" in incident.diagnosis.coverage.signals


def test_an_error_in_the_log_is_looked_into_at_once():
    emulated = Emulated()
    emulated.run(120, beside=emulated.read_log)
    server = emulated.lookout.servers["a"]
    line = LogLine(emulated.now, "ERROR", "EngineCore", None, "something odd")
    calm = server._reason(emulated.now)
    server.witness.log.add([line])
    assert calm != "log"
    assert server._reason(emulated.now) == "log"


def test_a_server_with_a_page_alone_has_nothing_beside_it():
    assert Witness().beside(NOTHING, 0.0) == NOTHING


def test_rows_of_its_host_come_before_those_of_exporters():
    witness = Witness()
    witness.gpu_rows.extend(GpuRow(t=START + n, power_w=100.0 + n) for n in range(10))
    witness.host_rows.extend(HostRow(t=START + n, loadavg=(1.0,)) for n in range(10))
    witness.spans.append(SpanRow(START, START + 2, "r", *(1.0,) * 7))
    witness.tell(msgspec.structs.replace(NOTHING, gpu=gpu_columns([GpuRow(t=START, power_w=7.0)])))
    found = witness.beside(NOTHING, START + 5)
    assert found.gpu is not None
    assert found.gpu.power_w.tolist() == [105.0, 106.0, 107.0, 108.0, 109.0]
    assert found.host is not None
    assert len(found.host.t) == 5
    assert found.spans == ()
    witness.forget(START + 8)
    assert (len(witness.gpu_rows), len(witness.host_rows), len(witness.spans)) == (2, 2, 0)


def test_what_a_prometheus_knows_comes_in_pieces_that_overlap():
    witness = Witness()
    for begin in (0, 5):
        rows = [GpuRow(t=START + n, power_w=float(n), name="H200") for n in range(begin, begin + 10)]
        witness.tell(msgspec.structs.replace(NOTHING, gpu=gpu_columns(rows), log=(XID,)))
    found = witness.beside(NOTHING, START)
    assert found.gpu is not None
    assert found.gpu.power_w.tolist() == [float(n) for n in range(15)]
    assert found.gpu.name == ("H200",) * 15
    assert found.log == (XID,)


def test_what_is_named_and_away_is_said():
    witness = Witness()
    witness.away["http://gpu:9400"] = "nothing answers"
    (warning,) = witness.beside(NOTHING, 0.0).warnings
    assert warning.id == "companion_away"
    assert "http://gpu:9400 tells nothing: nothing answers" in warning.text.en


@pytest.mark.parametrize("count", [0, 3])
def test_columns_are_cut_to_the_window(count):
    witness = Witness()
    witness.gpu_rows.extend(GpuRow(t=START + n) for n in range(3))
    found = witness.beside(NOTHING, START + 3 - count).gpu
    assert (0 if found is None else np.size(found.t)) == count


def test_why_it_died_is_not_forgotten_when_the_log_is_out_of_sight():
    """After a quarter of an hour the window holds neither the begin nor its lines, only an engine that stands still."""
    emulated = Emulated("oom", at=300, until=2000)
    emulated.run(1400, beside=emulated.read_log)
    assert [(one.what, one.incident.cause) for one in emulated.happened] == [("opened", "oom")]
