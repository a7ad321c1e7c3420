"""The collector's clock, which gives way to the server's where that sends one.

A replay or an emulator that runs faster than real time sends ``X-Whystall-Clock: <unix seconds>`` with each page. A
replay, whose page may have stood for a while, adds ``X-Whystall-Age`` (seconds since the page's time, on its clock) and
``X-Whystall-Speed`` (how many of its seconds pass in one of ours, or ``step``: one page at each reading).
"""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Mapping

CLOCK_HEADER = "X-Whystall-Clock"
AGE_HEADER = "X-Whystall-Age"
SPEED_HEADER = "X-Whystall-Speed"
STEP = "step"
_ESTIMATE_AFTER_S = 0.05  # below this the answer's own delay would decide the estimate
_MAX_AGE_S = 86_400.0
MIN_SPEED, MAX_SPEED = 0.01, 1e4
_MAX_TIME = 1e11  # year 5138; a time beyond is no time, and would overflow whoever prints it


class Clock:
    """Unix seconds that never step back, whatever is done to the host's clock meanwhile.

    ``foreign`` is whether the server's clock is followed; ``speed`` is how many seconds pass on it in one of ours,
    0 where it moves by readings only.
    """

    def __init__(self) -> None:
        self.foreign = False
        self.speed = 1.0
        self._anchor = (time.time(), time.monotonic())
        self._first: tuple[float, float] | None = None

    def now(self) -> float:
        at, mono = self._anchor
        return at + (time.monotonic() - mono) * self.speed

    def observe(self, headers: Mapping[str, str], received: float) -> float:
        """The time of a page that came with these headers (names in lower case) at monotonic time ``received``."""
        at = _number(headers.get(CLOCK_HEADER.lower()))
        if at is None or not 0 < at < _MAX_TIME:
            anchor, mono = self._anchor
            return anchor + (received - mono) * self.speed
        age = _number(headers.get(AGE_HEADER.lower())) or 0.0
        now = at + min(max(age, 0.0), _MAX_AGE_S)
        self._follow(now, received, headers.get(SPEED_HEADER.lower(), ""))
        return at

    def _follow(self, now: float, received: float, speed: str) -> None:
        self.foreign = True
        if self._first is None:
            self._first = (now, received)
        self._anchor = (now, received)
        if speed == STEP:
            self.speed = 0.0
            return
        told = _number(speed)
        elapsed = received - self._first[1]
        if told is not None and told > 0:
            self.speed = _bounded(told)
        elif elapsed > _ESTIMATE_AFTER_S and now > self._first[0]:
            self.speed = _bounded((now - self._first[0]) / elapsed)

    async def sleep_until(self, t: float) -> None:
        """Returns at once where the clock moves by readings only."""
        if self.speed > 0:
            await asyncio.sleep(max(0.0, (t - self.now()) / self.speed))

    async def sleep(self, seconds: float) -> None:
        await self.sleep_until(self.now() + seconds)


def _bounded(speed: float) -> float:
    return min(max(speed, MIN_SPEED), MAX_SPEED)


def _number(text: str | None) -> float | None:
    try:
        value = float(text) if text else None
    except ValueError:
        return None
    return value if value is not None and math.isfinite(value) else None
