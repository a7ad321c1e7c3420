"""The API process: one thread that takes requests in and hands tokens out, and the CPU time that it spends."""

from __future__ import annotations

import msgspec


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
    """Requests queue for the API process; what it is busy with delays those behind."""

    def __init__(self, start: float) -> None:
        self.costs = FrontCosts()
        self.cpu_s = 0.0
        self._free = start
        self._seen = start

    def take(self, prompt_tokens: int, now: float) -> float:
        """A request came; returns the seconds that it waits for the process beyond the usual."""
        costs = self.costs
        work = costs.request_s + costs.prompt_token_s * prompt_tokens
        self.cpu_s += work
        begin = max(now, self._free)
        self._free = begin + work * costs.slowdown
        usual = FrontCosts()
        return max(self._free - now - usual.request_s - usual.prompt_token_s * prompt_tokens, 0.0)

    def give(self, tokens: float) -> None:
        """``tokens`` went out."""
        work = self.costs.output_token_s * tokens
        self.cpu_s += work
        self._free += work * self.costs.slowdown

    def idle(self, now: float) -> None:
        """Time went by."""
        self.cpu_s += self.costs.idle * max(now - self._seen, 0.0)
        self._free = max(self._free, now)
        self._seen = max(self._seen, now)
