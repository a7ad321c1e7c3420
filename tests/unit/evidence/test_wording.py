import pytest

from whystall.evidence.wording import span


@pytest.mark.parametrize(
    ("seconds", "en", "zh"),
    [
        (31.2, "31 s", "31 秒"), (1.0, "1 s", "1 秒"), (0.98, "980 ms", "980 毫秒"), (0.0086, "8.6 ms", "8.6 毫秒"),
        (17e-6, "17 µs", "17 微秒"), (0.0, "0 s", "0 秒"),
    ],
)  # fmt: skip
def test_a_length_of_time_has_the_unit_that_a_person_would_use(seconds: float, en: str, zh: str) -> None:
    assert (span(seconds).en, span(seconds).zh) == (en, zh)
