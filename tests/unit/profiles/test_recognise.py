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


@pytest.mark.parametrize("content", [b"", b"hello", b"\x89PNG", b'{"a": 1}', b"[1, 2]", b"\n\x03abc"])
def test_anything_else_is_a_clear_error(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "f").write_bytes(content)
    with pytest.raises(NotATrace, match="no format known here"):
        recognise(tmp_path / "f")
