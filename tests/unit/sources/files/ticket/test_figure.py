"""Numbers as people write them."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whystall.sources.files.ticket.figure import Figure, figure


@pytest.mark.parametrize(
    ("text", "low", "high"),
    [
        ("~100k (customer); ~40k (repro)", 100_000, 100_000),
        ("15-40", 15, 40),
        ("<1", 1, 1),
        ("2.3-4.0", 2.3, 4.0),
        ("8k/32k/50k", 8_000, 50_000),
        ("1 vs >=8", 1, 8),
        ("12 stages 0.5..18 RPS, 300 s each", 0.5, 18),
        ("1,024", 1024, 1024),
        (5, 5, 5),
    ],
)
def test_a_number_or_a_range(text, low, high):
    found = figure(text)
    assert found is not None
    assert (found.low, found.high) == (low, high)


def test_a_unit_and_a_share():
    assert figure("45 s").unit == "s"
    assert figure("161-168 of 162-168 samples").low == pytest.approx(0.997, abs=1e-3)


@pytest.mark.parametrize("nothing", ["7x slower", "mostly free", "", None, True, float("nan"), [1], "?"])
def test_what_states_no_number(nothing):
    assert figure(nothing) is None


@given(st.text(max_size=300))
def test_any_text_is_a_finite_figure_or_none(text):
    found = figure(text)
    assert found is None or (math.isfinite(found.low) and math.isfinite(found.high))


@given(st.floats(0, 1e9), st.floats(0, 1e9), st.floats(0, 1))
def test_a_range_stays_inside(low, high, share):
    assert min(low, high) - 1e-6 <= Figure(low, high).at(share) <= max(low, high) + 1e-6
