import msgspec
import numpy as np
import pytest

import hostile
from scenes import scene_of
from whystall.evidence.impact import impact
from whystall.evidence.scene import Scene
from whystall.model.engine_state import ClientState
from whystall.model.slo import Slo

QUEUED = {"seconds": 30, "waiting": 40, "queue_s": 8}


def test_the_cost_is_that_of_the_incident() -> None:
    found = impact(scene_of({}, QUEUED))
    assert found.ttft_mean_s == pytest.approx(8.025, rel=0.05)
    assert found.itl_mean_s == pytest.approx(0.010, rel=0.01)
    assert found.queue_s == pytest.approx(10, rel=0.1)
    assert found.tokens_per_s == pytest.approx(800, rel=0.05)
    assert found.requests_affected_ratio == pytest.approx(1.0, abs=0.1)
    assert found.window_s == pytest.approx(30, abs=1)


def test_a_healthy_window_costs_nobody() -> None:
    assert impact(scene_of({})).requests_affected_ratio == 0.0


def test_refused_requests_are_affected() -> None:
    found = impact(scene_of({"seconds": 30, "refused": 4.0}))
    assert found.rejected_per_s == pytest.approx(4.0)
    assert found.requests_affected_ratio == pytest.approx(0.5)


def test_a_promise_decides_who_is_late() -> None:
    assert impact(scene_of(QUEUED, slo=Slo(ttft_p95_s=60.0))).requests_affected_ratio == 0.0


def test_what_was_not_seen_is_none() -> None:
    found = impact(scene_of({"rate": 0.0, "running": 0}))
    assert (found.ttft_p95_s, found.itl_p95_s, found.e2e_p95_s) == (None, None, None)


def test_errors_that_only_the_client_met_are_errors() -> None:
    scene = scene_of({"seconds": 30})
    assert impact(scene).errors_per_s == 0.0
    each, none = np.ones(len(scene.state.dt)), np.zeros(len(scene.state.dt))
    view = ClientState(hostile.client(30), 2 * each, each, none, none, 0.0, 1.0)
    state = msgspec.structs.replace(scene.state, client=view)
    assert impact(Scene(state)).errors_per_s == pytest.approx(1.0)


def test_what_load_lost_before_the_incident_began_is_over() -> None:
    """A queue of ten seconds that drained minutes ago is no part of the one that stays; a standstill then is."""
    wave, stop, stays = {"seconds": 10, "waiting": 40, "queue_s": 8}, {"seconds": 8, "stopped": True}, {**QUEUED}
    alone = impact(scene_of({}, stays)).lost_s
    assert alone is not None
    assert impact(scene_of({}, wave, {"seconds": 40}, stays)).lost_s == pytest.approx(alone, abs=3)
    assert (impact(scene_of({}, stop, {"seconds": 40}, stays)).lost_s or 0.0) > 0


def test_two_scrapes_far_apart_do_not_make_a_loss_longer() -> None:
    """A wave of five seconds on either side of a scrape is late in both of its intervals of 15 s."""
    state = scene_of({}, QUEUED).state
    scene = Scene(state)
    flagged = float(state.dt[scene.focus.lost].sum())
    assert impact(scene).lost_s == flagged
    slow = msgspec.structs.replace(state, dt=15 * state.dt, t_start=15 * state.t_start, t_end=15 * state.t_end)
    scene = Scene(slow)
    assert impact(scene).lost_s == pytest.approx(float(slow.dt[scene.focus.lost].sum()) - 10)
