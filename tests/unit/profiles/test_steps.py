import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from whystall.profiles.steps import innermost, parse_step
from whystall.profiles.trace import Ranges

NAMES = {
    "execute_context_6(7924)_generation_24(24)": ("mixed", 6, 7924, 24, 24),
    "execute_context_1(888_788544)_generation_0(0)": ("prefill", 1, 888, 0, 0),
    "execute_context_0(0)_generation_0(0)": ("empty", 0, 0, 0, 0),
    "execute_32_context_0(sq0sk0sqsq0sqsk0)_generation_32(sq32sk55086sqsq32sqsk55086)": ("decode", 0, 0, 32, 32),
    "step[DECODE bs=32]": ("decode", 0, 0, 32, 32),
    "step[EXTEND bs=2 toks=512]": ("prefill", 2, 512, 0, 0),
    "step[MIXED bs=2]": ("mixed", None, None, None, None),
    "prefill[bs=1 tokens=9]": ("prefill", 1, 9, 0, 0),
    "capture_128_FULL": ("capture", None, None, None, None),
    "ProfilerStep#12": ("other", None, None, None, None),
}


@pytest.mark.parametrize("name", NAMES)
def test_names_of_steps(name: str) -> None:
    step = parse_step(name)
    assert step is not None
    found = (step.phase, step.context_requests, step.context_tokens, step.generation_requests, step.generation_tokens)
    assert found == NAMES[name]


def test_detailed_names_give_attention_sizes() -> None:
    step = parse_step("execute_9_context_2(sq5sk8sqsq13sqsk40)_generation_4(sq4sk99sqsq4sqsk99)")
    assert step is not None
    assert (step.context_query_key, step.generation_query_key, step.generation_keys) == (40, 99, 99)


def test_other_names_are_no_steps() -> None:
    assert parse_step("nccl:all_reduce") is None
    assert parse_step("execute_context_" + "9" * 5000) is None


RANGES = st.lists(st.tuples(st.integers(0, 30), st.integers(0, 15), st.integers(0, 1)), max_size=15)


@given(RANGES, st.lists(st.tuples(st.integers(-2, 50), st.integers(0, 1)), max_size=15))
def test_innermost_is_the_open_range_that_started_last(ranges, asked) -> None:
    start, duration, thread = (np.array([row[i] for row in ranges], dtype=np.int64) for i in range(3))
    columns = Ranges(start, duration, np.zeros(len(ranges), dtype=np.int32), thread)
    times, threads = (np.array([row[i] for row in asked], dtype=np.int64) for i in range(2))
    for (time, on), found in zip(asked, innermost(columns, times, threads).tolist(), strict=True):
        open_then = [s for s, d, t in ranges if t == on and s <= time <= s + d]
        assert (found == -1) == (not open_then)
        if open_then:
            assert start[found] == max(open_then)
            assert start[found] <= time <= start[found] + duration[found]
            assert thread[found] == on
