"""What ``whystall calibrate`` says of a fit."""

import pytest

from whystall.cli.calibrate import _seconds


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        (1.5, "1.5 s"),
        (4.66e-3, "4.66 ms"),
        (0.9999e-3, "1 ms"),
        (17.1e-6, "17.1 µs"),
        (999.7e-12, "1 ns"),
        (998e-12, "998 ps"),
    ],
)
def test_the_unit_is_that_of_the_rounded_figure(seconds: float, shown: str) -> None:
    assert _seconds(seconds) == shown
