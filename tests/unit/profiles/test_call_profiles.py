import cProfile
import json
import marshal
import pstats
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whystall.errors import NotATrace
from whystall.profiles.call_profiles import group_of, parse_marshal, read_pstats, read_speedscope
from whystall.profiles.recognise import recognise


def test_groups_of_functions() -> None:
    expected = {
        "/vllm/v1/core/sched/scheduler.py:schedule": "scheduler",
        "/vllm/v1/engine/detokenizer.py:update": "detokenise",
        "/transformers/tokenization_utils_fast.py:_encode_plus": "tokenise",
        "/vllm/v1/structured_output/backend_xgrammar.py:fill_bitmask": "structured_output",
        "/vllm/v1/sample/sampler.py:forward": "sampling",
        "/usr/lib/python3.12/selectors.py:select": "waiting",
        "/vllm/v1/serial_utils.py:encode": "serialise",
        "/vllm/v1/worker/gpu_model_runner.py:execute_model": "launch",
        "/uvicorn/protocols/http/httptools_impl.py:data_received": "http",
        "/site/x.py:f": None,
    }
    assert {name: group_of(name) for name in expected} == expected


def test_pstats_equals_the_standard_library(tmp_path: Path) -> None:
    profile = cProfile.Profile()
    profile.enable()
    json.dumps([{"a": n} for n in range(2000)])
    profile.disable()
    path = tmp_path / "loop.prof"
    profile.dump_stats(path)
    assert recognise(path) == "pstats"
    found, expected = read_pstats(path), pstats.Stats(str(path))
    assert found.total == pytest.approx(expected.total_tt)  # type: ignore[attr-defined]
    assert found.functions[0].seconds == max(value[2] for value in expected.stats.values())  # type: ignore[attr-defined]
    assert any(row.id == "serialise" for row in found.groups)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**31), 2**60) | st.floats(allow_nan=False) | st.text(max_size=300),
    lambda inner: st.lists(inner, max_size=4).map(tuple) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=10,
)


@given(VALUES)
def test_our_reader_of_marshal_equals_pythons(value: object) -> None:
    found = parse_marshal(marshal.dumps(value))
    assert found == value or found is None  # None for what nests deeper than a profile does


@given(st.binary(max_size=200))
def test_hostile_marshal_is_nothing(data: bytes) -> None:
    parse_marshal(data)
    assert parse_marshal(b"\xfb(\xff\xff\xff\x7f" + data) is None


def speedscope(folder: Path, profile: dict) -> Path:
    frames = [{"name": "run_busy_loop", "file": "core.py"}, {"name": "schedule", "file": "v1/core/sched/scheduler.py"}]
    frames += [{"name": "len", "file": "builtins"}, {"name": "poll", "file": "zmq.py"}]
    body = {
        "$schema": "https://www.speedscope.app/file-format-schema.json",
        "shared": {"frames": frames},
        "profiles": [profile],
    }
    path = folder / "a.speedscope.json"
    path.write_text(json.dumps(body))
    return path


def test_sampled_speedscope_counts_for_the_innermost_known_frame(tmp_path: Path) -> None:
    samples = {
        "type": "sampled",
        "unit": "seconds",
        "samples": [[0, 1, 2], [0, 1], [0, 3], [0]],
        "weights": [1, 1, 2, 4],
    }
    path = speedscope(tmp_path, samples)
    assert recognise(path) == "speedscope"
    found = read_speedscope(path)
    assert {row.id: row.seconds for row in found.groups} == {"scheduler": 2, "waiting": 2, "other": 4}
    scheduler = next(row for row in found.groups if row.id == "scheduler")
    assert (scheduler.share, scheduler.busy_share) == (0.25, pytest.approx(1 / 3))


def test_evented_speedscope(tmp_path: Path) -> None:
    events = [("O", 0, 0), ("O", 2, 1), ("C", 5, 1), ("C", 9, 0)]
    profile = {
        "type": "evented",
        "unit": "milliseconds",
        "events": [{"type": t, "at": a, "frame": f} for t, a, f in events],
    }
    found = read_speedscope(speedscope(tmp_path, profile))
    assert {row.id: pytest.approx(row.seconds) for row in found.groups} == {"scheduler": 0.003, "other": 0.006}


@pytest.mark.parametrize("reader", [read_pstats, read_speedscope])
def test_other_files(tmp_path: Path, reader) -> None:
    for content in (b"{}", b"", b"\xfb0", b'{"profiles": 4}'):
        (tmp_path / "x").write_bytes(content)
        with pytest.raises(NotATrace):
            reader(tmp_path / "x")
