"""How long nobody answered, before the first page and after the last one."""

from pathlib import Path

import pytest

from whystall.emulator.server.deployment import Deployment
from whystall.emulator.server.faults import inject, parse_fault
from whystall.emulator.server.faults.scene import healthy_serving
from whystall.emulator.server.recorder import record_run
from whystall.pipeline import diagnose, states_of
from whystall.sources.files.recording import read_recording


@pytest.mark.parametrize(
    ("fault", "before_s", "after_s", "verdict"),
    [
        ("startup_failure@20", 0, 41, "bottleneck"),  # the last page is that of second 19
        ("weight_loading*0.4", 48, 0, "bottleneck"),
        ("weight_loading*0.05", 6, 0, "healthy"),
    ],
)
def test_a_server_that_is_not_there(tmp_path: Path, fault: str, before_s: int, after_s: int, verdict: str) -> None:
    server = Deployment(healthy_serving(""), start=1_790_000_000.0)
    inject(server, parse_fault(fault))
    record_run(server, tmp_path, seconds=60)
    recording = read_recording(tmp_path)
    state = states_of(recording)[0]
    assert state.unanswered_before_s == pytest.approx(before_s, abs=1)
    assert state.unanswered_after_s == pytest.approx(after_s, abs=1)
    assert diagnose(recording).diagnosis.verdict == verdict
