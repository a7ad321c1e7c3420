from pathlib import Path

from chrome_trace import document, kernel, memcpy, render, write
from whystall.profiles.analysis import summarise
from whystall.profiles.kineto import read_kineto


def ids(tmp_path: Path, events: list, **header) -> list[str]:
    return [note.id for note in summarise(read_kineto(write(tmp_path, render(document(events, **header))))).notes]


def test_folk_thresholds_are_notes(tmp_path: Path) -> None:
    events = [kernel("flash_fwd", 0, 11_000), kernel("nccl", 0, 6_000), memcpy("DtoH", 0, 3_000, 4)]
    found = ids(tmp_path, events)
    assert found[:4] == ["attention_over_40", "collective_over_20", "copy_over_10", "kernel_over_10ms"]
    assert found[4:] == ["no_steps", "no_memory", "no_shapes", "unlinked"]


def test_one_of_several_ranks(tmp_path: Path) -> None:
    found = ids(tmp_path, [kernel("a", 0, 1)], distributedInfo={"rank": 0, "world_size": 2}, record_shapes=1)
    assert "one_rank" in found
    assert "no_shapes" not in found


def test_without_gpu_work_there_is_nothing_to_note(tmp_path: Path) -> None:
    assert ids(tmp_path, []) == []
