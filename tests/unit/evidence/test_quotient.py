import math

import pytest

from scenes import evidence_of
from whystall.evidence.quotient import quotient


@pytest.mark.parametrize(("over", "under"), [(1.0, 0.0), (1.0, -1.0), (1.0, math.nan), (math.nan, 2.0)])
def test_what_cannot_be_divided_says_nothing(over: float, under: float) -> None:
    assert math.isnan(quotient(over, under))


def test_a_gpu_without_a_power_limit_is_read_and_says_nothing_of_it() -> None:
    found = evidence_of({"seconds": 30, "gpu": {"util": 0.9, "limit": 0}})
    assert "gpu.cap_lowered" not in found or found["gpu.cap_lowered"].strength == 0
