"""What is usual of an engine at this hour of the week, learned from its calm looks and kept in the store."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Protocol

from whystall.sources.archive.store import Habit

from .attention import Usual
from .figures import Figures, increase, mean_over

FIGURES = ("itl_s", "ttft_s", "tokens_per_s", "running")
ENOUGH = 20.0  # looks of an hour: less than half an hour's calm says little of it
MOST = 2000.0  # looks: some weeks' worth of one hour; older ones fade, for loads change
WRITE_EVERY = 10  # looks: two minutes


class HabitStore(Protocol):
    """Where habits are kept."""

    def habits(self, engine: str) -> dict[tuple[int, str], Habit]:
        """All of one engine."""
        ...

    def write_habit(self, engine: str, hour: int, figure: str, habit: Habit) -> None:
        """Keep one."""
        ...


class Habits:
    """The habits of one engine."""

    def __init__(self, engine: str, store: HabitStore | None) -> None:
        self._engine = engine
        self._store = store
        self._known = store.habits(engine) if store is not None else {}
        self._learnt = 0

    def learn(self, figures: Sequence[Figures]) -> None:
        """Take a calm stretch in."""
        if len(figures) < 2:
            return
        hour = hour_of_week(figures[-1].t)
        for name, value in _seen(figures).items():
            if math.isfinite(value):
                self._known[hour, name] = taught(self._known.get((hour, name), Habit(0.0, 0.0, 0.0)), value)
        self._learnt += 1
        if self._store is not None and self._learnt % WRITE_EVERY == 0:
            for name in FIGURES:
                if (hour, name) in self._known:
                    self._store.write_habit(self._engine, hour, name, self._known[hour, name])

    def usual(self, t: float, otherwise: Usual) -> Usual:
        """What is usual at ``t``; ``otherwise`` where this hour was not seen enough."""
        hour = hour_of_week(t)
        itl, ttft = (self._known.get((hour, name)) for name in ("itl_s", "ttft_s"))
        if itl is None or ttft is None or min(itl.n, ttft.n) < ENOUGH:
            return otherwise
        return Usual(itl.mean, ttft.mean)

    def at(self, t: float) -> dict[str, Habit]:
        """All figures of the hour of ``t``."""
        hour = hour_of_week(t)
        return {name: self._known[hour, name] for name in FIGURES if (hour, name) in self._known}


def hour_of_week(t: float) -> int:
    """0 is Monday 0 h UTC, 167 Sunday 23 h."""
    moment = datetime.fromtimestamp(t, UTC)
    return moment.weekday() * 24 + moment.hour


def taught(habit: Habit, value: float) -> Habit:
    """The habit with one more value (Welford 1962); beyond MOST the old ones fade."""
    n = min(habit.n + 1, MOST)
    mean = habit.mean + (value - habit.mean) / n
    spread = habit.spread * (n - 1) / n if habit.n >= MOST else habit.spread
    return Habit(n, mean, spread + (value - habit.mean) * (value - mean))


def _seen(figures: Sequence[Figures]) -> dict[str, float]:
    first, last = figures[0], figures[-1]
    seconds = last.t - first.t
    return {
        "itl_s": mean_over(first, last, "itl"),
        "ttft_s": mean_over(first, last, "ttft"),
        "tokens_per_s": increase(first.tokens, last.tokens) / seconds if seconds > 0 else math.nan,
        "running": sum(f.running for f in figures) / len(figures),
    }
