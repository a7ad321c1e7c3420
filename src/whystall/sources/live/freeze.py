"""Notices while scraping that an engine stands still, so that its health is asked in time."""

from __future__ import annotations

import numpy as np

from whystall.model.recording import SeriesKey
from whystall.sources.exposition import Page

_PROGRESS = ("generation_tokens_total", "generation_tokens", "prompt_tokens_total", "prompt_tokens")
_IN_FLIGHT = ("num_requests_running", "num_requests_waiting")
_AFTER_S = 10.0  # a step of a long prompt lasts seconds


class FreezeWatch:
    """Requests in flight, and no token for 10 s. Names are taken by their ends, so that renamed ones work too."""

    def __init__(self, keys: list[SeriesKey]) -> None:
        self._keys = keys
        self._scanned = 0
        self._progress: list[int] = []
        self._in_flight: list[int] = []
        self._last: tuple[float, float] | None = None  # tokens, and since when
        self._asked = -np.inf

    def stands_still(self, t: float, page: Page) -> bool:
        """Whether health should be asked now; true at most every 10 s."""
        self._scan()
        tokens = _sum(page, self._progress)
        if self._last is None or tokens != self._last[0] or _sum(page, self._in_flight) <= 0:
            self._last = (tokens, t)
            return False
        if t - self._last[1] < _AFTER_S or t - self._asked < _AFTER_S:
            return False
        self._asked = t
        return True

    def _scan(self) -> None:
        for ident in range(self._scanned, len(self._keys)):
            name = self._keys[ident].name.rpartition(":")[2]
            if name.endswith(_PROGRESS):
                self._progress.append(ident)
            elif name.endswith(_IN_FLIGHT):
                self._in_flight.append(ident)
        self._scanned = len(self._keys)


def _sum(page: Page, idents: list[int]) -> float:
    chosen = page.values[np.isin(page.ids, idents)]
    return float(np.nansum(chosen))
