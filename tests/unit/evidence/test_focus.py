import msgspec
import numpy as np
import pytest

from scenes import scene_of
from whystall.evidence.focus import Focus, focus, share_of
from whystall.model.slo import Slo

QUEUED = {"seconds": 30, "waiting": 40, "queue_s": 8}


def focus_of(*phases: dict, slo: Slo | None = None) -> Focus:
    return scene_of(*phases, slo=slo).focus


def unpaced(*phases: dict) -> Focus:
    """By latencies alone, whatever the steps' work says."""
    return focus(scene_of(*phases).state)


def test_a_calm_window_is_looked_at_whole() -> None:
    found = focus_of({})
    assert not found.hurts
    assert found.inside.all()
    assert not found.before.any()
    assert found.onset is None


def test_an_incident_after_a_healthy_start() -> None:
    found = focus_of({}, QUEUED)
    assert found.hurts
    assert found.inside[21:].all()
    assert not found.inside[:19].any()
    assert found.before[:19].all()
    assert found.onset is not None
    assert found.onset.seconds == pytest.approx(20, abs=1)
    assert found.kinds["queue"] > 0.9


def test_there_from_the_start_has_no_onset() -> None:
    found = focus_of(QUEUED)
    assert found.hurts
    assert found.onset is None
    assert not found.before.any()


def test_waves_are_one_episode() -> None:
    wave = {"seconds": 6, "waiting": 40, "queue_s": 8}
    found = focus_of({}, wave, {"seconds": 5}, wave, {"seconds": 5}, wave, {})
    assert found.inside[22:46].all()


def test_a_wave_that_drains_is_none() -> None:
    assert not focus_of({}, {"seconds": 2, "waiting": 5}, {}).hurts


def test_a_hang_at_the_end_is_the_incident_whatever_hurt_before() -> None:
    found = focus_of({}, QUEUED, {"seconds": 40, "stopped": True, "waiting": 40})
    assert found.inside[52:].all()
    assert not found.inside[:48].any()


def test_a_promise_moves_what_is_late() -> None:
    slow = {"seconds": 30, "itl_ms": 60, "rate": 0.1}
    assert not focus_of(slow, slo=Slo(itl_p95_s=0.2)).hurts


def test_the_worst_seconds_of_a_minute_are_no_late_tokens() -> None:
    """Prompts that come together make some seconds late on any server; a loss of 20 s is one."""
    calm, late = {"seconds": 27, "itl_ms": 15, "running": 8}, {"itl_ms": 45, "running": 8}
    assert not unpaced(calm, late | {"seconds": 6}, calm).hurts
    assert unpaced(calm, late | {"seconds": 20}, calm).hurts


@pytest.mark.parametrize(("late", "hurts"), [([0.18, 250], False), ([0.05, 900], True)])
def test_gaps_of_a_long_prompt_s_step_are_no_pauses(late: list[float], hurts: bool) -> None:
    work = {"itl_ms": 8, "running": 8}
    waves = [work | {"seconds": 2}, work | {"seconds": 1, "slow_tokens": late}] * 6
    assert unpaced(work | {"seconds": 30}, *waves, work | {"seconds": 10}).hurts is hurts


def test_lost_is_the_time_of_all_episodes() -> None:
    found = focus_of({}, {"seconds": 8, "waiting": 40, "queue_s": 8}, {"seconds": 40}, QUEUED)
    assert found.lost.sum() > 30
    assert found.lost[22:27].all()
    assert not found.lost[40:60].any()
    assert not focus_of({}).lost.any()


@pytest.mark.parametrize(
    ("seconds", "after", "hurts"), [(12, 60, False), (40, 20, True), (25, 0, True)], ids=["over", "a third", "goes on"]
)
def test_late_tokens_that_are_over_must_weigh_on_the_window(seconds: float, after: float, hurts: bool) -> None:
    """Seen in watched hours: agents' prompts come in bunches, and tokens are late for ten seconds each time."""
    work = {"itl_ms": 18, "running": 8}
    late = [work | {"seconds": seconds, "itl_ms": 40}]
    rest = [work | {"seconds": after}] if after else []
    assert unpaced(work | {"seconds": 60}, *late, *rest).hurts is hurts


def test_a_short_wait_does_not_make_late_tokens_an_incident() -> None:
    """Two seconds of a queue and eight of late tokens are neither by themselves."""
    work = {"itl_ms": 18, "running": 8}
    late, queued = work | {"seconds": 8, "itl_ms": 40}, work | {"seconds": 3, "itl_ms": 40, "waiting": 5}
    assert not unpaced(work | {"seconds": 60}, queued, late, work | {"seconds": 60}).hurts


def test_streams_that_halt_beside_a_short_wait_are_an_incident() -> None:
    """A giant prompt in one step: three seconds of a queue, and single streams that halt for a second before it."""
    work = {"itl_ms": 8, "running": 8}
    halt = work | {"seconds": 1, "slow_tokens": [0.05, 1000]}
    queued = work | {"seconds": 3, "waiting": 5}
    waves = [halt, work | {"seconds": 4}, halt, work | {"seconds": 4}, queued]
    assert unpaced(work | {"seconds": 60}, *waves, work | {"seconds": 60}).hurts


def test_a_wait_is_shared_by_those_who_come() -> None:
    """A queue for two seconds in ten: by the clock a fifth of the incident, by those who came in a crowd most of it."""
    state = scene_of({"seconds": 60}).state
    queued, whole = np.arange(len(state.dt)) % 10 < 2, np.ones(len(state.dt), dtype=bool)
    came = np.where(queued, 20.0, 0.1)
    crowd = msgspec.structs.replace(state, ttft=msgspec.structs.replace(state.ttft, count=came))
    assert share_of(state, "queue", queued, whole) == pytest.approx(0.2, abs=0.02)
    assert share_of(crowd, "queue", queued, whole) > 0.9
    assert share_of(crowd, "host_gap", queued, whole) == pytest.approx(0.2, abs=0.02)  # that is borne by all who run


AWAY = {"seconds": 30, "away": True}


def test_what_is_lost_after_an_absence_is_the_incident_and_not_the_absence() -> None:
    """The server is back at second 50; for 20 s all is well, then requests wait."""
    found = focus_of({}, AWAY, {}, {**QUEUED, "seconds": 10}, {})
    assert found.kinds["queue"] > 0.9
    assert found.kinds["away"] == 0


def test_an_absence_after_another_loss_is_the_incident() -> None:
    found = focus_of({}, {**QUEUED, "seconds": 6}, {}, AWAY, {})
    assert found.kinds["away"] > 0.5
    assert found.kinds["queue"] == 0


def test_calm_after_the_incident_is_kept_where_it_serves_enough() -> None:
    found = focus_of({}, QUEUED, {"seconds": 30})
    assert found.after[-15:].all()
    assert not (found.after & found.inside).any()
    assert not focus_of({}, QUEUED, {"seconds": 2}).after.any()


def test_a_queue_that_a_standstill_left_counts_by_the_clock() -> None:
    """Ten seconds stand still; those who came meanwhile get their first tokens in the two seconds after it."""
    stands = {"seconds": 10, "stopped": True, "waiting": 40}
    found = focus_of({"seconds": 40}, stands, {"seconds": 2, "waiting": 20, "queue_s": 8, "rate": 40}, {})
    assert found.kinds["stall"] > 0.5
    assert found.kinds["queue"] == found.times["queue"]
