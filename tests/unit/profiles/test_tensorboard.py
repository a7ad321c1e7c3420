import gzip
import json
import struct
from pathlib import Path

import pytest

from chrome_trace import annotation, call, document, kernel, render, write
from whystall.errors import UsageError
from whystall.profiles.kineto import read_kineto
from whystall.profiles.linked import LinkedTrace, link
from whystall.profiles.tensorboard import crc32c, write_tensorboard


def trace(folder: Path) -> LinkedTrace:
    events = [
        annotation("execute_context_0(0)_generation_4(4)", 0, 50),
        call("c", 1, 1, 1),
        kernel("nvjet", 5, 2000, 1),
    ]
    return link(read_kineto(write(folder, render(document(events)))))


def records(data: bytes) -> list[bytes]:
    found = []
    while data:
        (length,) = struct.unpack("<Q", data[:8])
        found.append(data[12 : 12 + length])
        data = data[16 + length :]
    return found


def test_a_log_folder(tmp_path: Path) -> None:
    trace_file, events = write_tensorboard(tmp_path / "logs", [trace(tmp_path)])
    with gzip.open(trace_file) as file:
        assert any(event["name"] == "nvjet" for event in json.load(file)["traceEvents"])
    first, *scalars = records(events.read_bytes())
    assert b"brain.Event:2" in first
    busy = next(record for record in scalars if b"decode/gpu busy ms" in record)
    assert struct.unpack("<f", busy[-4:])[0] == 2.0


def test_the_checksum_of_the_standard() -> None:
    assert crc32c(b"123456789") == 0xE3069283


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="cannot be written"):
        write_tensorboard(tmp_path / "file" / "logs", [trace(tmp_path)])
