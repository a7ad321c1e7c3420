"""A loop that is late by as much as the test's clock says: nothing waits."""

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from watched_pages import START, Emulated
from whystall.model.fleet import StoreState
from whystall.service.ledger import Ledger
from whystall.service.log import Log
from whystall.service.own_metrics import page
from whystall.service.pulse import BEAT_S, MOST_S, Pulse
from whystall.service.server import LOST_SURELY, Watching
from whystall.service.target import WatchTarget
from whystall.service.view import fleet
from whystall.service.watcher import Watcher
from whystall.service.workers import Workers
from whystall.sources.live.access import Access


class Time:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def beaten(*lags: float) -> tuple[Pulse, Time]:
    clock = Time()
    pulse = Pulse(clock=clock)
    for lag in lags:
        clock.now += BEAT_S + lag
        pulse.beat()
    return pulse, clock


def test_a_loop_in_time_is_not_late():
    pulse, _ = beaten(*[0.05] * 400)
    assert (pulse.late, pulse.lag_s(), pulse.late_s(900), pulse.late_total_s) == (False, 0, 0, 0)
    assert not pulse.excuses(10)


def test_lag_is_counted_and_forgotten():
    pulse, clock = beaten(0.0, 4.0, 0.0, 2.0)
    assert pulse.late
    assert (pulse.lag_s(), pulse.late_s(60), pulse.late_beats) == (4.0, 6.0, 2)
    assert pulse.late_s(1.0) == pytest.approx(1.0)
    clock.now += BEAT_S
    for _ in range(int(61 / BEAT_S)):
        pulse.beat()
        clock.now += BEAT_S
    assert (pulse.late, pulse.lag_s(), pulse.late_total_s) == (False, 0.0, 6.0)
    assert pulse.late_s(MOST_S) == 6.0


def test_a_beat_that_is_still_due_counts():
    """Whoever asks runs before the beat does: a time-out is handled first when the loop comes to life again."""
    pulse, clock = beaten(0.0)
    clock.now += BEAT_S + 9.0
    assert pulse.excuses(10.0)
    assert pulse.lag_s() == 9.0


@given(st.lists(st.floats(0, 0.4) | st.floats(0.6, 30), max_size=40), st.floats(0.1, 900))
def test_no_more_than_all_of_the_time_was_late(lags, seconds):
    pulse, _ = beaten(*lags)
    assert 0 <= pulse.late_s(seconds) <= seconds + 1e-6
    assert pulse.late_total_s == pytest.approx(sum(lag for lag in lags if lag >= 0.5), abs=1e-6)


async def test_it_beats_by_itself():
    pulse = Pulse()
    told = asyncio.Event()
    pulse.changed = lambda late: told.set()
    clock = Time()
    pulse._clock = clock
    pulse._due = clock.now
    task = asyncio.create_task(pulse.run())
    await asyncio.sleep(0)
    clock.now += BEAT_S + 5.0  # it slept for so long instead of a quarter of a second
    await asyncio.wait_for(told.wait(), 10)
    task.cancel()
    assert pulse.late


def watcher(lines: list[str], clock: Time) -> Watcher:
    found = Watcher(Watching(), Ledger(), Workers(0), Log("text", "info", write=lines.append))
    found.lookout.pulse._clock = clock
    found.lookout.pulse._due = clock.now + BEAT_S
    found.found("a", WatchTarget("a", "http://a:8000", Access(timeout_s=10)))
    return found


async def settled(watch: Watcher) -> None:
    while watch._jobs:
        await asyncio.gather(*watch._jobs)


@pytest.mark.parametrize("late", [True, False])
async def test_a_watch_that_is_late_calls_nobody_dead(late):
    lines: list[str] = []
    clock = Time()
    watch = watcher(lines, clock)
    for n in range(3 * LOST_SURELY):
        clock.now += BEAT_S + (9.0 if late else 0.0)
        watch.lookout.pulse.beat()
        watch.failed("a", 1000.0 + 20 * n, "TimedOut", "no whole answer within 10 s")
        await settled(watch)
    opened = watch.ledger.open()
    own = fleet(watch.lookout, StoreState(""), 0.0).own
    if not late:
        assert [incident.kind for incident in opened] == ["unreachable"]
        assert (own.late, own.excused, own.text.en) == (False, 0, "")
        return
    assert opened == []
    assert watch.lookout.servers["a"].error == ""
    assert (own.late, own.lag_s, own.excused) == (True, 9.0, 3 * LOST_SURELY)
    assert "late itself" in own.text.en
    assert f"{own.excused} 次" in own.text.zh
    assert sum("late itself" in line for line in lines) == 1
    assert f"whystall_scrapes_excused_total {own.excused}" in page(watch)
    assert "whystall_loop_lag_seconds 9" in page(watch)


async def test_who_refuses_a_connection_is_dead_however_late_we_are():
    clock = Time()
    watch = watcher([], clock)
    for n in range(LOST_SURELY + 2):
        clock.now += BEAT_S + 9.0
        watch.lookout.pulse.beat()
        watch.failed("a", 1000.0 + 20 * n, "Unreachable", "nothing answers")
        await settled(watch)
    assert [incident.kind for incident in watch.ledger.open()] == ["unreachable"]


@pytest.mark.parametrize("late", [True, False])
def test_a_loss_in_seconds_in_which_we_were_late_opens_nothing(late):
    emulated = Emulated("kv_capacity", at=300, until=420)
    if late:
        pulse = emulated.lookout.pulse
        pulse.late_s = lambda seconds: min(seconds, 200.0)  # type: ignore[method-assign]
    emulated.run(700)
    assert [happening.what for happening in emulated.happened] == ([] if late else ["opened", "recovered"])
    assert emulated.now > START
