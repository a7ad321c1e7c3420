"""The emulated server's clock: real time, or real time multiplied."""

from __future__ import annotations

import time

HEADER = "X-Whystall-Clock"
SPEED_HEADER = "X-Whystall-Speed"


class Clock:
    """Emulated unix time. With ``speed`` 1 it is the wall clock; ``start`` is when the server came up."""

    def __init__(self, speed: float = 1.0) -> None:
        self.speed = speed
        self.start = time.time()
        self._begun = time.monotonic()

    def now(self) -> float:
        """Emulated unix seconds."""
        return self.start + (time.monotonic() - self._begun) * self.speed

    def wall(self, seconds: float) -> float:
        """Real seconds that ``seconds`` of emulated time take."""
        return seconds / self.speed

    def headers(self) -> dict[str, str]:
        """What a page of a faster server carries, so that a reader takes its time from it and need not guess its speed."""
        return {} if self.speed == 1.0 else {HEADER: f"{self.now():.6f}", SPEED_HEADER: f"{self.speed:g}"}
