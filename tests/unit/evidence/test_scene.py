import math

import numpy as np
import pytest

from scenes import scene_of
from whystall.model.text import Text


def test_sums_rates_means_and_shares_are_over_the_incident() -> None:
    scene = scene_of({}, {"seconds": 30, "waiting": 40, "queue_s": 8, "rate": 2.0, "running": 16})
    assert scene.rate(scene.state.first_tokens) == pytest.approx(2.0, rel=0.05)
    assert scene.rate(scene.state.first_tokens, scene.before) == pytest.approx(4.0)
    assert scene.mean(scene.state.running_end) == pytest.approx(16, abs=0.5)
    assert scene.share(scene.state.waiting_end > 0) == pytest.approx(1.0)
    assert scene.ratio(scene.state.prompt_tokens, scene.state.first_tokens) == pytest.approx(200)
    assert scene.seconds == pytest.approx(30, abs=1)


def test_nothing_seen_is_not_zero() -> None:
    scene = scene_of({})
    nothing = np.full(len(scene.state.dt), np.nan)
    none = np.zeros(len(scene.state.dt), dtype=bool)
    assert math.isnan(scene.rate(nothing))
    assert math.isnan(scene.mean(nothing))
    assert math.isnan(scene.share(none, none))
    assert math.isnan(scene.ratio(nothing, nothing))
    assert scene.evidence("x", math.nan, "s", 0.0, Text("x")).value is None


def test_the_wait_is_the_larger_of_littles_law_and_the_histogram() -> None:
    phase = {"seconds": 30, "waiting": 40}
    assert scene_of({**phase, "queue_s": 2}).queue_delay_s == pytest.approx(10)
    assert scene_of({**phase, "queue_s": 25}).queue_delay_s == pytest.approx(25)


@pytest.mark.parametrize(
    ("t", "onset"), [(5.0, (5, 4, 6)), (0.2, (0.2, 0, 1.2)), (20.0, (20, 19, 20)), (-3.0, (0, 0, 0))]
)
def test_a_line_of_the_log_is_an_onset_inside_the_window(t: float, onset: tuple[float, float, float]) -> None:
    found = scene_of({}).onset_at(t)
    assert (found.seconds, found.low, found.high) == pytest.approx(onset)


def test_a_wait_that_comes_and_goes_is_measured_while_it_is_there() -> None:
    """20 wait in a third of the incident, at 4 requests a second; late tokens fill all of it."""
    late = {"seconds": 10, "itl_ms": 60}
    scene = scene_of({"seconds": 30}, late, {**late, "waiting": 20, "queue_s": 0}, late)
    assert scene.focus.kinds["queue"] == pytest.approx(1 / 3, abs=0.1)
    assert scene.queue_delay_s == pytest.approx(20 / 4, rel=0.15)


def test_all_is_measured_where_a_kind_of_loss_is_not_worth_naming() -> None:
    late = {"seconds": 38, "itl_ms": 60}
    scene = scene_of({"seconds": 30}, late, {**late, "seconds": 4, "waiting": 20, "queue_s": 0}, late)
    assert scene.most_of(np.arange(5.0), "queue").all()
    assert scene.queue_delay_s < 1
