"""What an SLO makes of a window: inside it is healthy, whatever it is; outside it never is."""

import pytest

from scenes import scene_of
from whystall.evidence.bounds import bounds
from whystall.evidence.thresholds import level
from whystall.model.slo import Slo

QUEUE = {"waiting": 20, "queue_s": 5, "running": 16, "seconds": 40}
IDLE_GPU = {"gpu": {"util": 0.3, "power": 200}, "itl_ms": 12, "seconds": 40}


def test_without_a_promise_it_is_what_is_felt() -> None:
    found = bounds(None)
    assert (found.wait_s, found.itl_s, found.errors_ratio) == (
        level("felt_wait"),
        level("felt_itl"),
        level("felt_errors"),
    )
    assert (found.ttft_s, found.e2e_s, found.itl_promised) == (None, None, False)
    assert bounds(Slo()) == found


def test_a_promise_takes_the_place_of_what_is_felt() -> None:
    found = bounds(Slo.parse("ttft_p95=3s,itl_p95=40ms,e2e_p95=20s,errors=0"))
    assert (found.wait_s, found.ttft_s, found.itl_s, found.e2e_s, found.errors_ratio) == (3, 3, 0.04, 20, 0)
    assert found.itl_promised


@pytest.mark.parametrize(
    ("phase", "slo", "kind"),
    [
        (QUEUE, "ttft_p95=2s", "queue"),
        ({"prefill_s": 1.5, "seconds": 40}, "ttft_p95=1s", "ttft"),
        ({"itl_ms": 60, "seconds": 40}, "itl_p95=50ms", "itl"),
        ({"slow_tokens": [0.1, 200], "seconds": 40}, "itl_p95=100ms", "itl"),
        ({"seconds": 40}, "e2e_p95=1s", "e2e"),
        ({"refused": 0.02, "seconds": 40}, "errors=0.1%", "refusals"),
        ({"refused": 0.02, "seconds": 40}, "errors=0", "refusals"),
    ],
)
def test_a_broken_promise_is_a_loss(phase: dict, slo: str, kind: str) -> None:
    focus = scene_of(phase, slo=Slo.parse(slo)).focus
    assert focus.hurts
    assert max(focus.kinds, key=lambda name: focus.kinds[name]) == kind


@pytest.mark.parametrize(
    ("phase", "slo"),
    [
        (QUEUE, "ttft_p95=10s"),
        ({"front_s": 0.8, "seconds": 40}, "ttft_p95=2s"),
        ({"slow_tokens": [0.3, 200], "seconds": 40}, "itl_p95=500ms"),
        (IDLE_GPU, "itl_p95=50ms"),
        ({"refused": 0.1, "seconds": 40}, "errors=5%"),
        ({"seconds": 40}, "e2e_p95=60s"),
    ],
)
def test_inside_its_promise_a_server_is_healthy(phase: dict, slo: str) -> None:
    assert not scene_of(phase, slo=Slo.parse(slo)).focus.hurts


@pytest.mark.parametrize("phase", [QUEUE, {"front_s": 0.8}, {"slow_tokens": [0.3, 200]}, IDLE_GPU, {"refused": 0.1}])
def test_the_same_windows_hurt_where_nothing_was_promised(phase: dict) -> None:
    assert scene_of({"seconds": 40, **phase}).focus.hurts


def test_quick_tokens_are_no_loss_however_idle_the_gpu_is() -> None:
    # a model of a billion parameters waits for the host in every step, and makes 300 tokens a second for each reader
    assert not scene_of({**IDLE_GPU, "itl_ms": 3}).focus.hurts


def test_a_promise_of_one_thing_leaves_the_others_as_they_are() -> None:
    assert scene_of(QUEUE, slo=Slo.parse("itl_p95=500ms")).focus.kinds["queue"] > 0.9
