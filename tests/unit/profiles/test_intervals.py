import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from exact_trace import overlap, sweep
from whystall.profiles.intervals import union, union_length

INTERVALS = st.lists(st.tuples(st.integers(0, 50), st.integers(0, 20)).map(lambda p: (p[0], p[0] + p[1])), max_size=30)


def columns(intervals):
    pairs = np.array(intervals, dtype=np.int64).reshape(-1, 2)
    return pairs[:, 0], pairs[:, 1]


@given(INTERVALS)
def test_union_equals_a_sweep_line(intervals) -> None:
    merged = union(*columns(intervals))
    assert list(zip(merged.start.tolist(), merged.end.tolist(), strict=True)) == sweep(intervals)
    assert union_length(*columns(intervals)) == sum(end - start for start, end in sweep(intervals))


@given(INTERVALS, st.lists(st.tuples(st.integers(-5, 80), st.integers(0, 40)), max_size=10))
def test_what_lies_within_windows(intervals, windows) -> None:
    merged = union(*columns(intervals))
    start, end = columns([(begin, begin + size) for begin, size in windows])
    expected = [overlap(sweep(intervals), begin, begin + size) for begin, size in windows]
    assert merged.within(start, end).tolist() == expected


def test_gaps_lie_between() -> None:
    gaps = union(np.array([5, 0, 9]), np.array([7, 2, 9])).gaps()
    assert (gaps.start.tolist(), gaps.end.tolist()) == ([2, 7], [5, 9])
