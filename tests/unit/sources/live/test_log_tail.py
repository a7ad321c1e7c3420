from pathlib import Path

import pytest

from whystall.errors import UsageError
from whystall.sources.live import log_tail
from whystall.sources.live.log_tail import LogTail


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "server.log"
    path.write_bytes(b"one\ntwo\n")
    return path


def append(path: Path, text: bytes) -> None:
    with path.open("ab") as file:
        file.write(text)


def test_what_was_there_and_what_comes(log: Path) -> None:
    tail = LogTail(log)
    assert tail.first() == b"one\ntwo\n"
    assert tail.more() == b""
    append(log, b"three")
    append(log, b"\n\xff\n")
    assert tail.more() == b"three\n\xff\n"
    assert not tail.cut
    tail.close()


def test_of_a_long_log_the_start_and_the_end_in_whole_lines(log: Path, monkeypatch) -> None:
    monkeypatch.setattr(log_tail, "HEAD_BYTES", 100)
    monkeypatch.setattr(log_tail, "TAIL_BYTES", 100)
    lines = [b"line %04d" % n for n in range(1000)]
    log.write_bytes(b"\n".join(lines) + b"\n")
    tail = LogTail(log)
    found = tail.first().split(b"\n")
    tail.close()
    assert tail.cut
    assert found[0] == lines[0]
    assert found[-2] == lines[-1]
    assert set(found) <= {*lines, b""}
    assert len(found) < 30


def test_a_log_that_is_begun_anew_in_place(log: Path) -> None:
    tail = LogTail(log)
    tail.first()
    log.write_bytes(b"new\n")
    assert tail.more() == b"new\n"
    tail.close()


def test_a_log_that_is_rotated(log: Path) -> None:
    tail = LogTail(log)
    tail.first()
    append(log, b"last words\n")
    log.rename(log.with_suffix(".1"))
    assert tail.more() == b""  # the new one is not there yet
    log.write_bytes(b"new\n")
    assert tail.more() == b"last words\n"
    assert tail.more() == b"new\n"
    tail.close()


def test_no_more_than_the_limit(log: Path, monkeypatch) -> None:
    monkeypatch.setattr(log_tail, "LIMIT_BYTES", 10)
    tail = LogTail(log)
    assert tail.first() == b"one\ntwo\n"
    append(log, b"x" * 100)
    assert tail.more() == b"xx"
    assert tail.more() == b""
    assert tail.cut
    tail.close()


@pytest.mark.parametrize("name", ["none.log", "."])
def test_what_is_no_log(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError) as caught:
        LogTail(tmp_path / name)
    assert "--log" in caught.value.hint


def test_one_that_is_followed_without_end_has_no_limit(log: Path, monkeypatch) -> None:
    monkeypatch.setattr(log_tail, "LIMIT_BYTES", 10)
    tail = LogTail(log, endless=True)
    tail.first()
    for n in range(10):
        append(log, b"line %d\n" % n)
        assert tail.more() == b"line %d\n" % n
    assert tail.written() == log.stat().st_mtime
    tail.close()
