from pathlib import Path

import pytest

from chrome_trace import LAYOUTS, document, kernel, render, write
from whystall.profiles.bytestream import ByteStream, ReadLimits
from whystall.profiles.pieces import EventReader

EVENTS = [kernel(f"k{n}", n, 1, n) for n in range(300)]


def read(path: Path, block: int) -> tuple[list[str], EventReader]:
    with ByteStream(path, ReadLimits(block_bytes=block)) as stream:
        reader = EventReader(stream)
        return [event.name for batch in reader.batches() for event in batch.events], reader


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("block", [50, 777, 4096, 512 * 1024])
def test_every_event_comes_once_and_in_order(tmp_path: Path, layout: str, block: int) -> None:
    names, reader = read(write(tmp_path, render(document(EVENTS), layout)), block)
    assert names == [f"k{n}" for n in range(300)]
    assert reader.findings.closed


def test_uniform_text_needs_the_slow_way_only_at_its_end(tmp_path: Path) -> None:
    _, reader = read(write(tmp_path, render(document(EVENTS * 20))), 8192)
    assert reader.findings.slow_pieces <= 1


def test_an_event_that_hangs_on_to_its_neighbour_is_not_lost(tmp_path: Path) -> None:
    odd = {"name": "odd", "ph": "X", "cat": "kernel", "ts": 1, "dur": 1}
    names, _ = read(write(tmp_path, render(document([*EVENTS, odd, *EVENTS]))), 8192)
    assert names.count("odd") == 1
    assert len(names) == 601


def test_a_second_layout_in_the_same_file(tmp_path: Path) -> None:
    first, second = render(document(EVENTS)), render(EVENTS, "tight")
    joined = first[: first.rindex(b"]")].rstrip() + b"," + second[1:] + b"}"
    names, reader = read(write(tmp_path, joined), 8192)
    assert len(names) == 600
    assert reader.findings.events == 600


def test_work_on_a_hostile_file_is_bounded(tmp_path: Path) -> None:
    """Nothing but openings: every one is tried a bounded number of times."""
    names, reader = read(write(tmp_path, b'{"traceEvents": [' + b'{"ph": "X", {' * 3000), 8192)
    assert names == []
    assert reader.findings.counts.rejected > 0
