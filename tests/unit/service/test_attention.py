import math

import pytest

from whystall.evidence.bounds import bounds
from whystall.model.slo import Slo
from whystall.service.attention import Usual, reason, still_late
from whystall.service.figures import Figures

CALM = {"running": 5.0, "waiting": 0.0, "kv_ratio": 0.3, "rejections": 0.0, "preemptions": 0.0, "errors": 0.0}


def figures(t: float, itl_s: float = 0.01, ttft_s: float = 0.05, queue_s: float = 0.0, **more: float) -> Figures:
    n = 10 * t
    sums = {"itl": 100 * n * itl_s, "ttft": n * ttft_s, "queue": n * queue_s}
    return Figures(t, **{**CALM, "tokens": 100 * n, **more}, sums=sums, counts={"itl": 100 * n, "ttft": n, "queue": n})


def look(last: Figures, usual: Usual | None = None, slo: Slo | None = None) -> str:
    return reason([figures(1), figures(2), last], usual or Usual(0.01, 0.05), bounds(slo))


def test_a_calm_server_needs_no_look():
    assert look(figures(3)) == ""


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"tokens": 1.0}, "restart"),
        ({"rejections": 1.0}, "rejections"),
        ({"preemptions": 2.0}, "preemptions"),
        ({"errors": 1.0}, "errors"),
        ({"kv_ratio": 0.9}, "kv"),
        ({"queue_s": 0.4}, "queue"),
        ({"itl_s": 0.03}, "itl"),
        ({"ttft_s": 2.0}, "ttft"),
    ],
)
def test_what_may_be_a_loss_asks_for_one(changed, why):
    assert look(figures(3, **changed)) == why


def test_one_waiting_request_is_nothing_but_a_queue_is():
    assert look(figures(3, waiting=1.0)) == ""
    assert reason([figures(1), figures(2, waiting=2.0), figures(3, waiting=1.0)], Usual(), bounds(None)) == "queue"


def test_work_without_tokens_is_a_standstill():
    stuck = [figures(1, tokens=50.0), figures(2, tokens=50.0)]
    assert reason(stuck, Usual(), bounds(None)) == "no tokens"


def test_a_promise_that_is_nearly_broken_asks_for_one():
    assert look(figures(3, ttft_s=0.09), slo=Slo(ttft_p95_s=0.1)) == "ttft"


def test_calm_looks_teach_what_is_usual():
    usual = Usual()
    usual.learn([figures(1), figures(2)])
    assert usual.itl_s == pytest.approx(0.01)
    assert not still_late([figures(1), figures(2)], usual)
    assert still_late([figures(1), figures(2, itl_s=0.02)], usual)
    assert not still_late([figures(1), figures(2)], Usual(math.nan))
