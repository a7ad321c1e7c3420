"""The API process: one thread that takes requests in and hands tokens out, and the CPU time that it spends."""

from __future__ import annotations

import msgspec

_REMEMBERED_S = 1.0  # over which the share of the process that tokens take is averaged


class FrontCosts(msgspec.Struct, frozen=True, kw_only=True):
    """CPU seconds of the API process; the defaults are fitted to ``process_cpu_seconds_total`` of H200 recordings.

    ``slowdown`` stretches the time that its work takes without adding CPU time: it shares its core.
    """

    idle: float = 0.08  # per second
    request_s: float = 2e-3
    prompt_token_s: float = 1e-6
    output_token_s: float = 7e-5
    slowdown: float = 1.0


class FrontEnd:
    """Requests queue for the API process; what it is busy with delays those behind.

    Tokens go out all along, but are told as one sum when a stretch of time is over: they take a share of the process in
    it, and no piece of time at its end, for which whoever comes next would have to wait.
    """

    def __init__(self, start: float) -> None:
        self.costs = FrontCosts()
        self.cpu_s = 0.0
        self._left_s = 0.0  # of the work of requests that were taken in, at ``_at``
        self._at = start
        self._seen = start
        self._given_s = 0.0  # for tokens, since ``_seen``
        self._share = 0.0  # of the process, that tokens took of late

    def take(self, prompt_tokens: int, now: float, media_s: float = 0.0) -> float:
        """A request came, with media that take ``media_s``; returns the seconds that it waits beyond the usual."""
        costs = self.costs
        work = costs.request_s + costs.prompt_token_s * prompt_tokens + media_s
        self.cpu_s += work
        self._work_off(now)
        self._left_s += work * costs.slowdown
        usual = FrontCosts()
        return max(self._left_s - usual.request_s - usual.prompt_token_s * prompt_tokens, 0.0)

    def give(self, tokens: float) -> None:
        """``tokens`` went out since the last :meth:`idle`."""
        work = self.costs.output_token_s * tokens
        self.cpu_s += work
        self._given_s += work * self.costs.slowdown

    def idle(self, now: float) -> None:
        """Time went by."""
        seconds = now - self._seen
        if seconds <= 0:
            return
        self.cpu_s += self.costs.idle * seconds
        self._work_off(now)
        taken = self._given_s / seconds
        # The stretch was worked off with the share of before; more than all of the process is work that is left.
        more = taken - self._share if self._left_s > 0 else taken - 1.0
        self._left_s = max(self._left_s + more * seconds, 0.0)
        self._share += (min(taken, 1.0) - self._share) * min(seconds / _REMEMBERED_S, 1.0)
        self._seen, self._given_s = now, 0.0

    def _work_off(self, now: float) -> None:
        if now > self._at:
            self._left_s = max(self._left_s - (1.0 - self._share) * (now - self._at), 0.0)
            self._at = now
