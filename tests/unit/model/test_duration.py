import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whystall.errors import UsageError
from whystall.model.duration import parse_duration


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("30s", 30), ("5m", 300), ("1h", 3600), ("250ms", 0.25), ("1m30s", 90), ("1.5h", 5400), ("2d", 172800),
        ("45", 45), (" 10S ", 10), ("10us", 1e-5), ("10µs", 1e-5), (".5s", 0.5),
    ],
)  # fmt: skip
def test_reads_lengths_of_time(text: str, seconds: float) -> None:
    assert parse_duration(text) == pytest.approx(seconds)


@pytest.mark.parametrize("text", ["", "s", "0s", "0", "-5s", "5 parsecs", "nan", "inf", "1e9", "5s!", "٣s", "9" * 400])
def test_refuses_what_is_none(text: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_duration(text)
    assert caught.value.hint


@given(st.floats(min_value=1e-3, max_value=1e6))
def test_any_positive_number_of_seconds(seconds: float) -> None:
    assert parse_duration(f"{seconds:.6f}s") == pytest.approx(seconds, abs=1e-6)


@given(st.text(max_size=20))
def test_any_text_is_read_or_refused(text: str) -> None:
    with contextlib.suppress(UsageError):
        assert parse_duration(text) > 0
