"""Whether the watch itself comes to do its work: how late its own loop is, and for how long it was.

A loop that gets no CPU reads answers late. Then a scrape's time is over although the server answered, and a page counts as
younger than it is: what looks like a stall of every server is one of the watch.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable
from typing import NamedTuple

BEAT_S = 0.25
# A beat that is later than this is time in which nothing was done. A tenth of a scrape's interval moves a rate by a
# tenth, half of what is called a change; below a quarter of a second any busy machine is late now and then.
LATE_SHARE, LEAST_LATE_S = 0.1, 0.25
# Of the time that an answer may take: so much of it spent without CPU, and whose fault it was is not known.
EXCUSED_SHARE = 0.25
RECENT_S = 60.0
MOST_S = 900.0  # the longest window that is looked at


class _Late(NamedTuple):
    begin: float  # on the monotonic clock
    end: float


class Pulse:
    """Beats as long as :meth:`run` runs. ``late_total_s`` and ``late_beats`` count from the start.

    ``changed`` is called with whether the loop is late when that changes; ``excused`` counts what :meth:`excuses` let pass.
    """

    def __init__(self, interval_s: float = 5.0, clock: Callable[[], float] = time.monotonic) -> None:
        self.changed: Callable[[bool], None] = lambda _late: None
        self.excused = 0
        self._was_late = False
        self.late_total_s = 0.0
        self.late_beats = 0
        self._bound_s = max(LATE_SHARE * interval_s, LEAST_LATE_S)
        self._clock = clock
        self._due = clock() + BEAT_S
        self._spans: deque[_Late] = deque()

    async def run(self) -> None:
        """Beat until cancelled."""
        self._due = self._clock() + BEAT_S
        while True:
            await asyncio.sleep(max(self._due - self._clock(), 0.0))
            self.beat()

    def beat(self) -> float:
        """Note how late this beat is (seconds)."""
        now = self._clock()
        lag = max(now - self._due, 0.0)
        if lag >= self._bound_s:
            self.late_beats += 1
            self.late_total_s += lag
            self._spans.append(_Late(self._due, now))
        while self._spans and self._spans[0].end < now - MOST_S:
            self._spans.popleft()
        self._due = now + BEAT_S
        if self.late != self._was_late:
            self._was_late = not self._was_late
            self.changed(self._was_late)
        return lag

    def late_s(self, seconds: float) -> float:
        """Of the last ``seconds``, those in which the loop was late; the beat that is still due counts."""
        now = self._clock()
        spans = [*self._spans, *([_Late(self._due, now)] if now - self._due >= self._bound_s else [])]
        return sum(max(span.end - max(span.begin, now - seconds), 0.0) for span in spans)

    def lag_s(self) -> float:
        """The worst lag of the last minute; 0 where no beat was late."""
        now = self._clock()
        behind = max(now - self._due, 0.0)
        worst = max((span.end - span.begin for span in self._spans if span.end >= now - RECENT_S), default=0.0)
        return max(worst, behind if behind >= self._bound_s else 0.0)

    @property
    def late(self) -> bool:
        """Whether it was late within the last minute."""
        return self.late_s(RECENT_S) > 0

    def excuses(self, seconds: float) -> bool:
        """Whether something that took ``seconds`` until now may have taken them because of us."""
        found = self.late_s(seconds) >= EXCUSED_SHARE * seconds
        self.excused += found
        return found
