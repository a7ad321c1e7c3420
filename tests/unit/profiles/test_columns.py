from decimal import ROUND_HALF_EVEN, Decimal

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from whystall.profiles.columns import Column, MemoryFold, NeedsExact, Numbers, exact_nanoseconds, nanoseconds
from whystall.profiles.kineto import read_kineto

NS = st.integers(0, 2**43 * 1000 - 1)


@given(st.lists(NS, min_size=1))
def test_floats_below_the_limit_are_exact(times: list[int]) -> None:
    """As the profiler writes them: microseconds with three decimals."""
    values = [float(f"{ns // 1000}.{ns % 1000:03d}") for ns in times]
    found, good = nanoseconds(values)
    assert good.all()
    assert found.tolist() == times


@given(st.lists(st.integers(-9_000_000_000_000_000, 9_000_000_000_000_000), min_size=1))
def test_whole_microseconds_are_exact_at_any_size(times: list[int]) -> None:
    found, good = nanoseconds(times)
    assert good.all()
    assert found.tolist() == [1000 * time for time in times]


def test_epoch_times_with_a_fraction_ask_for_their_text() -> None:
    with pytest.raises(NeedsExact):
        nanoseconds([1712195495519689.047])


@given(st.lists(st.decimals(min_value=0, max_value=Decimal(10) ** 15, places=5), min_size=1))
def test_text_is_exact(values: list[Decimal]) -> None:
    found, good = exact_nanoseconds([msgspec.Raw(str(value).encode()) for value in values])
    assert good.all()
    assert found.tolist() == [int((value * 1000).to_integral_value(ROUND_HALF_EVEN)) for value in values]


def test_unusable_times_are_marked() -> None:
    assert nanoseconds([1.0, float("nan"), float("inf"), 1e30])[1].tolist() == [True, False, False, False]
    assert nanoseconds([1, 10**40])[1].tolist() == [True, False]
    raw = [msgspec.Raw(text) for text in (b"1.5", b'"x"', b"1e999", b"NaN", b"\xff")]
    assert exact_nanoseconds([*raw, float("nan")])[1].tolist() == [True] + [False] * 5


def test_a_column_joins_once_and_drops_what_does_not_fit() -> None:
    column = Column(np.int32)
    column.add_list([1, 2])
    column.add_list([3, 2**40])
    assert column.take().tolist() == [1, 2, 3, -1]
    assert column.take().tolist() == []


def test_threads_named_by_text() -> None:
    numbers = Numbers()
    assert numbers([1, "stream 7", "main", "other", "main"]) == [1, 7, -2, -3, -2]


def test_memory_is_folded_over_pieces(tmp_path) -> None:
    from chrome_trace import document, instant, render, write

    pieces = [instant(0, 5, 9), instant(0, 8, 9), instant(0, 9, 7), instant(1, 1, 2), instant(0, 99, 99, kind=0)]
    zero, one = read_kineto(write(tmp_path, render(document(pieces)))).memory
    assert (zero.samples, zero.peak_allocated_bytes, zero.peak_reserved_bytes) == (3, 9, 9)
    assert zero.fragmentation_ratio == pytest.approx(1 / 9)
    assert (one.device, one.samples) == (1, 1)
    assert MemoryFold().take() == ()
