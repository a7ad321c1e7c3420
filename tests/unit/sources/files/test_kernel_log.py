"""The kernel's log in the forms in which it is saved."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whystall.errors import InputError
from whystall.model.configuration import LogEvent
from whystall.sources.files.kernel_log import KernelRing, _of_ring, read_kernel_log
from whystall.sources.log import read_events

XID = "NVRM: Xid (PCI:0000:4e:00): 79, pid=1234, name=python3, GPU has fallen off the bus."
OOM = "Out of memory: Killed process 4321 (VLLM::EngineCor) total-vm:1kB"
AT = 1_796_025_600.0  # 2026-11-30 08:00 UTC


def read(tmp_path, text, boot=None):
    file = tmp_path / "kernel.log"
    file.write_text(text)
    return read_kernel_log(file, boot)


@pytest.mark.parametrize(
    "line",
    [
        f"2026-11-30T08:00:00+0000 gpu7 kernel: {XID}",
        f"2026-11-30T09:00:00,000000+01:00 {XID}",
        f"2026-11-30T08:00:00Z gpu7 kernel: [ 12.5] {XID}",
        f"[{time.strftime('%a %b %d %H:%M:%S %Y', time.localtime(AT))}] {XID}",
        f"[   60.000000] {XID}",
    ],
)
def test_an_xid_in_every_form(tmp_path, line):
    (found,) = read(tmp_path, line + "\n", boot=AT - 60)
    assert (found.t, found.text, found.process) == (AT, XID, "kernel")
    (event,) = read_events([found])
    assert isinstance(event, LogEvent)
    assert (event.id, event.value) == ("gpu_fault", 79)


def test_only_what_a_diagnosis_can_use_is_kept(tmp_path):
    text = f"[ 1.0] usb 1-1: secret serial 12345\n[ 2.0] {OOM}\n"
    (found,) = read(tmp_path, text)
    assert (found.t, found.text) == (None, OOM)
    assert read_events([found])[0].id == "host_out_of_memory"


def test_another_file_is_refused(tmp_path):
    with pytest.raises(InputError, match="no log of the kernel"):
        read(tmp_path, "hello\nworld\n")
    assert read(tmp_path, "") == ()


@given(st.text(max_size=200))
def test_any_text_is_read_or_refused(tmp_path_factory, text):
    try:
        for line in read(tmp_path_factory.mktemp("k"), "[ 1.0] x\n" + text.replace("\x00", "")):
            assert line.text
    except InputError:
        raise AssertionError("the first line is the kernel's") from None


def test_what_a_syslog_daemon_writes(tmp_path):
    now = time.localtime(time.time() - 60)
    file = tmp_path / "messages"
    file.write_text(f"{time.strftime('%b %e %H:%M:%S', now)} host kernel: [ 12.5] {XID}\n")
    (line,) = read_kernel_log(file)
    assert line.t == pytest.approx(time.mktime(now), abs=1.5)
    assert line.text == XID


@pytest.mark.parametrize(("record", "t"), [(f"3,99,1500000,-;{XID}\n SUBSYSTEM=pci\n", 101.5), (f"odd;{XID}", None)])
def test_a_record_of_the_kernels_ring(record, t):
    assert _of_ring(record, 100.0) == (t, XID)


def test_a_ring_that_may_not_be_read_is_refused_by_name(tmp_path):
    with pytest.raises(InputError, match="cannot be read"):
        KernelRing(tmp_path / "none")
