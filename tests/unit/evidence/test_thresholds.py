import pytest
from hypothesis import given
from hypothesis import strategies as st

from whystall.evidence.thresholds import THRESHOLDS, level, ramp

number = st.floats(-1e6, 1e6)


@given(number, number, number)
def test_a_ramp_is_bounded_and_monotonic(x: float, zero: float, full: float) -> None:
    if abs(full - zero) < 1e-6:
        return
    assert -1.5 <= ramp(x, zero, full) <= 1.5
    assert ramp(zero, zero, full) == 0
    assert ramp(full, zero, full) == pytest.approx(1)
    further = x + (full - zero) / 10
    assert ramp(further, zero, full) >= ramp(x, zero, full)


def test_every_level_has_its_unit_and_its_reason() -> None:
    assert len(THRESHOLDS) == len({t.name for t in THRESHOLDS.values()})
    assert all(t.unit and len(t.reason) > 10 for t in THRESHOLDS.values())


def test_an_unknown_level_is_an_error() -> None:
    with pytest.raises(KeyError):
        level("no_such_level")
