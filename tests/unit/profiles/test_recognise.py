from pathlib import Path

import pytest

from whystall.errors import NotATrace
from whystall.profiles.recognise import recognise

CONTENT = {
    b'{"schemaVersion": 1, "traceEvents": [': "pytorch",
    b'[{"ph": "X"}]': "pytorch",
    b'  \n{"deviceProperties": [{}]': "pytorch",
    b"NVR\0abc": "ncu_report",
    b'"ID","Kernel Name"\n': "ncu",
    b"(EngineCore) INFO 11-30 01:36:24 [loggers.py:199] Engine 000: Iteration(0): 1 context requests": "iterations",
}


@pytest.mark.parametrize("content", CONTENT)
def test_by_content_whatever_the_name(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "report.sqlite"
    path.write_bytes(content)
    assert recognise(path) == CONTENT[content]


def test_an_nsys_report_needs_an_export(tmp_path: Path) -> None:
    (tmp_path / "a.nsys-rep").write_bytes(b"\0\0NVIDIA Nsight Systems\0")
    with pytest.raises(NotATrace) as error:
        recognise(tmp_path / "a.nsys-rep")
    assert "nsys export --type sqlite a.nsys-rep" in error.value.hint


@pytest.mark.parametrize("content", [b"hello", b"\x89PNG", b'{"a": 1}', b"[1, 2]", b"\n\x03abc"])
def test_anything_else_is_a_clear_error(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "f").write_bytes(content)
    with pytest.raises(NotATrace, match="no format known here"):
        recognise(tmp_path / "f")


@pytest.mark.parametrize(
    ("content", "says", "how"),
    [
        (b"", "is empty", "still be writing"),
        (b"\xfd7zXZ\0...", "packed with xz", "xz -d"),
        (b"# HELP vllm:num_requests_running x\n", "holds metrics", "whystall diagnose"),
        (b"hello", "no format known here", "Known: "),
    ],
)
def test_what_is_no_profile_is_called_what_it_is(tmp_path, content, says, how):
    (tmp_path / "x").write_bytes(content)
    with pytest.raises(NotATrace, match=says) as refused:
        recognise(tmp_path / "x")
    assert how in refused.value.hint
