import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whystall.reports.figures import change, clock, duration, figure, number, percent, probability


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (0.0104, "s", "10.4 ms"),
        (12.8, "s", "12.8 s"),
        (0.0, "s", "0 s"),
        (3725.0, "s", "1 h 2 min"),
        (0.99, "ratio", "99%"),
        (0.998, "ratio", "99.8%"),
        (0.42, "ratio", "42%"),
        (2.86, "ratio", "2.86×"),
        (1.36, "ratio", "136%"),
        (0.178, "1/req", "0.178/request"),
        (3712.4, "tok/s", "3,712 tok/s"),
        (3.4, "1/s", "3.4/s"),
        (13.5 * 2**30, "bytes", "13.5 GiB"),
        (1.98e9, "Hz", "1.98 GHz"),
        (1.02, "x", "1.02×"),
        (24.0, "req", "24 requests"),
        (-0.0, "req", "0 requests"),
        (1.0, "req", "1 request"),
        (1.0, "GPUs", "1 GPU"),
        (1.0, "req/s", "1 requests/s"),
        (1.0, "flag", "yes"),
        (0.0, "flag", "no"),
        (512.0, "tokens", "512 tokens"),
        (None, "s", "not seen"),
        (math.nan, "ratio", "not seen"),
        (math.inf, "s", "∞"),
        (7.0, "made_up", "7 made up"),
    ],
)
def test_values_read_as_a_person_writes_them(value, unit, text):
    assert figure(value, unit, "en") == text


def test_units_are_said_in_the_language():
    assert figure(0.5, "cores", "zh") == "0.5 核"
    assert figure(512.0, "tokens", "zh") == "512 个 token"
    assert figure(1.0, "flag", "zh") == "是"
    assert figure(1.0, "stages", "zh") == "1 个阶段"


def test_unseen_is_said_in_the_language():
    assert figure(None, "s", "zh") == "未见"


@given(st.floats(allow_nan=True, allow_infinity=True), st.sampled_from(["s", "ratio", "bytes", "Hz", "tok/s", "x", ""]))
def test_every_float_has_a_text(value, unit):
    assert figure(value, unit, "en")


@given(st.floats(min_value=1e-6, max_value=1e6))
def test_number_keeps_three_digits(value):
    assert float(number(value).replace(",", "")) == pytest.approx(value, rel=5.1e-3)


@given(st.floats(min_value=1e-6, max_value=119.0))
def test_duration_keeps_three_digits(seconds):
    text, unit = duration(seconds).split()
    scale = {"µs": 1e-6, "ms": 1e-3, "s": 1.0}[unit]
    assert float(text.replace(",", "")) * scale == pytest.approx(seconds, rel=6e-3)


@given(st.floats() | st.integers())
def test_every_number_has_a_text(value):
    assert number(value)


def test_a_probability_is_never_a_certainty():
    assert [probability(value) for value in (1.0, 0.93, 0.0)] == [">99%", "93%", "<1%"]


def test_changes_have_a_sign():
    assert [change(value) for value in (-0.5, 0.25, 0.001)] == ["-50%", "+25%", "0%"]


def test_percent_near_one_keeps_the_difference():
    assert percent(0.999) != percent(1.0)


def test_a_time_that_no_calendar_has_is_printed_all_the_same():
    assert clock(1e30) == "1e+30"
