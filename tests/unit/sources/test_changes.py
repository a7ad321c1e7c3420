import msgspec
import numpy as np

from cases.window import START, recording_of
from whystall.sources.changes import asked, shifts

CALM = {"seconds": 20, "running": 4, "rate": 2.0}
AWAY = {"seconds": 10, "away": True}


def args(t: float, flags: str) -> list:
    return [t, f"non-default args: {{{flags}}}"]


def test_what_differs_between_two_starts() -> None:
    log = [args(0.0, "'max_num_seqs': 64, 'hf_token': 'a'"), args(22.0, "'max_num_seqs': 8, 'hf_token': 'b'")]
    found = {s.name: s for s in shifts(recording_of({"phases": [CALM, AWAY, CALM], "log": log}))}
    assert (found["max_num_seqs"].before, found["max_num_seqs"].after) == ("64", "8")
    assert found["max_num_seqs"].t == START + 22.0
    assert "hf_token" not in found  # nobody's business, and read as three stars


def test_a_restart_before_the_window_changed_nothing_in_it() -> None:
    log = [args(-50.0, "'max_num_seqs': 64"), args(-20.0, "'max_num_seqs': 8")]
    assert shifts(recording_of({"phases": [CALM], "log": log})) == ()


def test_labels_of_the_page_tell_what_no_log_does() -> None:
    recording = recording_of({"phases": [CALM, CALM], "argv": ["--num-gpu-blocks-override", "1000"]})
    table = recording.metrics
    row = next(i for i, key in enumerate(table.keys) if key.name == "vllm:cache_config_info")
    values = table.values.copy()
    later = values[row].copy()
    later[:25] = float("nan")
    values[row, 25:] = float("nan")
    labels = tuple((n, "500" if n == "num_gpu_blocks" else v) for n, v in table.keys[row].labels)
    keys = (*table.keys, msgspec.structs.replace(table.keys[row], labels=labels))
    changed = msgspec.structs.replace(table, keys=keys, values=np.array([*values, later]))
    (found,) = shifts(msgspec.structs.replace(recording, metrics=changed))
    assert (found.name, found.before, found.after, found.t) == ("num_gpu_blocks", "1000", "500", START + 25)


def test_the_time_in_which_it_was_asked_includes_failures() -> None:
    assert asked(recording_of({"phases": [AWAY, CALM, AWAY]})) == (START, START + 40)
