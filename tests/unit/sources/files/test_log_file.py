"""Logs of any size and encoding."""

from recorded_text import write
from whystall.sources.files import log_file, stream


def test_a_long_log_keeps_both_ends(tmp_path, monkeypatch):
    monkeypatch.setattr(log_file, "HEAD_BYTES", 1000)
    monkeypatch.setattr(log_file, "TAIL_BYTES", 5000)
    monkeypatch.setattr(stream, "_READ_BYTES", 4096)
    write(tmp_path, "".join(f"line {k}\n" for k in range(100_000)), "server.log")
    found = log_file.read_log_file(tmp_path / "server.log")
    assert found.lines[0] == "line 0"
    assert found.lines[-2:] == ("line 99999", "")
    assert all(line.startswith("line ") for line in found.lines[:-1])
    assert len(found.lines) < 2000
    assert [warning.id for warning in found.warnings] == ["long_log"]
