import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whystall.service.attention import Usual
from whystall.service.figures import Figures
from whystall.service.habits import ENOUGH, MOST, Habits, hour_of_week, taught
from whystall.sources.archive.store import Archive, Habit

MONDAY = 1_790_035_200.0 - 1_790_035_200.0 % 604_800 + 4 * 86_400  # the epoch was a Thursday


def calm(t: float, itl_s: float = 0.01) -> list[Figures]:
    return [
        Figures(
            t + s, running=3.0, tokens=100.0 * s, sums={"itl": s * itl_s, "ttft": s * 0.1}, counts={"itl": s, "ttft": s}
        )
        for s in (1.0, 2.0)
    ]


def test_hours_of_the_week():
    assert hour_of_week(MONDAY) == 0
    assert hour_of_week(MONDAY - 1) == 167
    assert hour_of_week(MONDAY + 25 * 3600) == 25


@given(st.lists(st.floats(-100, 100), min_size=1, max_size=40))
def test_mean_and_spread_are_those_of_all(values):
    habit = Habit(0.0, 0.0, 0.0)
    for value in values:
        habit = taught(habit, value)
    mean = sum(values) / len(values)
    assert habit.mean == pytest.approx(mean, abs=1e-6)
    assert habit.spread == pytest.approx(sum((v - mean) ** 2 for v in values), abs=1e-6)


def test_an_hour_that_is_known_says_what_is_usual(tmp_path: Path):
    with Archive.open(tmp_path / "w.sqlite") as archive:
        habits = Habits("a", archive)
        lately = Usual(0.5, 0.5)
        assert habits.usual(MONDAY, lately) is lately
        for _ in range(int(ENOUGH)):
            habits.learn(calm(MONDAY))
        again = Habits("a", archive)
        assert again.usual(MONDAY + 60, lately).itl_s == pytest.approx(0.01)
        assert again.usual(MONDAY + 3600, lately) is lately
        assert again.at(MONDAY)["running"].mean == 3.0


def test_what_was_weeks_ago_fades():
    habit = Habit(MOST, 1.0, 0.0)
    for _ in range(int(3 * MOST)):
        habit = taught(habit, 2.0)
    assert habit.mean > 1.9


def test_nothing_seen_teaches_nothing():
    habits = Habits("a", None)
    habits.learn([Figures(1.0), Figures(2.0, running=math.nan)])
    assert habits.at(1.0) == {}
