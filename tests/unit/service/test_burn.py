import numpy as np
import pytest

from whystall.model.slo import Slo
from whystall.service.burn import burn_rates
from whystall.service.figures import Figures


def figures(t: float, requests: float, late: float, errors: float = 0.0) -> Figures:
    edges, below = np.array([0.5, 1.0, 2.0]), np.array([requests - late, requests - late, requests])
    return Figures(
        t, answers=requests, errors=errors, rejections=0.0, counts={"ttft": requests}, buckets={"ttft": (edges, below)}
    )


def burned(*pages: Figures, slo: str = "ttft_p95=1s"):
    (rate,) = burn_rates(Slo.parse(slo))
    for page in pages:
        rate.add(page)
    return rate.rates(pages[-1].t)


def test_one_in_twenty_late_is_what_a_p95_allows():
    found = burned(figures(0, 0, 0), figures(100, 1000, 50))
    assert found.short == pytest.approx(1.0)
    assert found.long == pytest.approx(1.0)


def test_the_short_window_forgets():
    pages = [figures(0, 0, 0), figures(600, 1000, 500), *(figures(600 + t, 1000 + t, 500) for t in range(10, 400, 10))]
    found = burned(*pages)
    assert found.short == 0
    assert found.long > 5


def test_few_requests_say_nothing():
    assert burned(figures(0, 0, 0), figures(100, 10, 10)).short is None


def test_a_restart_goes_on_counting():
    found = burned(figures(0, 1000, 0), figures(100, 2000, 0), figures(110, 100, 100))
    assert found.short == pytest.approx(100 / 1100 / 0.05)


def test_errors_burn_against_their_own_bound():
    assert burned(figures(0, 0, 0), figures(60, 1000, 0, errors=10), slo="errors=0.1%").short == pytest.approx(10)


def test_nothing_promised_nothing_burns():
    assert burn_rates(None) == ()
