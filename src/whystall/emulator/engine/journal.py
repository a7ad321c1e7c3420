"""What an engine did: per step, per token gap and per request, in columns that are cheap to append to."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .request import Request

Floats = NDArray[np.float64]


class Journal:
    """Columns of one engine's run. Times are seconds on the engine's clock.

    ``end``, ``gap``, ``regular``, ``generated``, ``prompts``: one row a step: when its result came, seconds since the
    result before, tokens for requests that also got one in the step before (each is an inter-token latency of
    ``gap``), all tokens, prompt tokens of the prefills that it completed.
    ``odd_t`` and ``odd_gap``: inter-token latencies that skipped steps (preempted, not served).
    ``first``: requests in the order of their first token; ``finished``: in the order in which they ended.
    """

    __slots__ = (
        "cached_tokens",
        "computed_tokens",
        "dropped",
        "end",
        "finished",
        "first",
        "free_blocks",
        "gap",
        "generated",
        "odd_gap",
        "odd_t",
        "preemptions",
        "prompts",
        "regular",
        "rejected",
        "running",
        "waiting",
    )

    def __init__(self) -> None:
        self.dropped = 0  # steps whose rows were forgotten
        self.end: list[float] = []
        self.gap: list[float] = []
        self.regular: list[int] = []
        self.generated: list[int] = []
        self.prompts: list[int] = []
        self.running: list[int] = []
        self.waiting: list[int] = []
        self.free_blocks: list[int] = []
        self.odd_t: list[float] = []
        self.odd_gap: list[float] = []
        self.first: list[Request] = []
        self.finished: list[Request] = []
        self.rejected: list[float] = []  # times
        self.preemptions: list[float] = []  # times at which an output told of one
        self.cached_tokens = 0  # prompt tokens taken from the prefix cache, of requests that had their first token
        self.computed_tokens = 0

    def columns(self, name: str) -> Floats:
        """One of the per-step columns as an array."""
        return np.asarray(getattr(self, name), dtype=np.float64)

    def gaps(self, start: float = -np.inf, stop: float = np.inf) -> tuple[Floats, Floats]:
        """Inter-token latencies of results in [start, stop), and how often each occurred."""
        end = self.columns("end")
        chosen = (end >= start) & (end < stop) & (self.columns("regular") > 0)
        odd_t = self.columns("odd_t")
        odd = self.columns("odd_gap")[(odd_t >= start) & (odd_t < stop)]
        values = np.concatenate([self.columns("gap")[chosen], odd])
        weights = np.concatenate([self.columns("regular")[chosen], np.ones(len(odd))])
        return values, weights
