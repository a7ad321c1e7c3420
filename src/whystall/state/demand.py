"""What was asked of an engine in a part of its window, as features that can be put into another load one by one."""

from __future__ import annotations

import random

import msgspec
import numpy as np
from numpy.typing import NDArray

from whystall.model.engine_state import Bools, EngineState, Floats, HistogramDelta

from .arrivals import Kind, kinds_in, plateaus_in

_FEW = 10  # requests whose mean is an anecdote
_GROWN = 1.5
_MOSTLY = 0.5  # of the time at one number in flight, and the clients wait for their answers


class Demand(msgspec.Struct, frozen=True):
    """``seconds`` of load: arrivals at ``times`` (an open loop) or ``clients`` that wait for their answers (0: open).

    ``kinds`` are the requests' lengths in the order of their first tokens.
    """

    seconds: float
    times: tuple[float, ...]
    clients: int
    kinds: tuple[Kind, ...]

    @property
    def rate(self) -> float:
        return len(self.times) / self.seconds if self.seconds > 0 else 0.0


def demand_of(state: EngineState, where: Bools, *, seed: int = 1) -> Demand | None:
    """The load of the chosen intervals, which must be a stretch; None where no request got a first token in it."""
    at = np.flatnonzero(where)
    if not len(at):
        return None
    part = slice(int(at[0]), int(at[-1]) + 1)
    rng = random.Random(seed)
    kinds = kinds_in(_Part(state, part), rng)
    if not kinds:
        return None
    kinds = _own_outputs(state, part, kinds)
    edges = np.concatenate((state.t_start[part][:1], state.t_end[part]))
    came = _came(state, part)
    times = [rng.uniform(edges[i], edges[i + 1]) - edges[0] for i, n in enumerate(came) for _ in range(n)]
    seconds = float(edges[-1] - edges[0])
    return Demand(seconds, tuple(sorted(float(t) for t in times)), _clients(state, part, came), tuple(kinds))


def _own_outputs(state: EngineState, part: slice, kinds: list[Kind]) -> list[Kind]:
    """The outputs of the stretch where they are others than those of the whole window: they may have grown.

    Of its second half where enough finish in it: who finishes early came before. Where there are several classes of
    requests their outputs keep their ratios, and only a growth by half counts: a mean moves with the mix, too.
    """
    counts, sums = np.nan_to_num(state.output_length.count[part]), np.nan_to_num(state.output_length.sum[part])
    late = slice(len(counts) // 2, None)
    chosen = late if counts[late].sum() >= _FEW else slice(None)
    finished, usual = float(counts[chosen].sum()), float(np.mean([kind.output for kind in kinds]))
    times = float(sums[chosen].sum()) / finished / usual if finished > 0 else 1.0
    if len({kind.output for kind in kinds}) > 1 and not times > _GROWN:
        return kinds
    return [msgspec.structs.replace(kind, output=max(round(times * kind.output), 1)) for kind in kinds]


def _came(state: EngineState, part: slice) -> NDArray[np.int64]:
    """Requests that arrived by interval: those finished or refused plus the change of running and waiting (identity I4)."""
    inside = [
        np.nan_to_num(getattr(state, f"running_{e}")) + np.nan_to_num(getattr(state, f"waiting_{e}")) for e in _ENDS
    ]
    came = np.nan_to_num(state.finished) + np.nan_to_num(state.rejections) + inside[1] - inside[0]
    return np.asarray(np.maximum(np.round(came[part]), 0), dtype=np.int64)


_ENDS = ("start", "end")
_LENGTHS = ("request_prompt_tokens", "request_generation_tokens")


def _clients(state: EngineState, part: slice, came: NDArray[np.int64]) -> int:
    """The size of the closed loop that fills most of the time; 0 where there is none.

    What stands still because the rest is refused is no closed loop.
    """
    if np.nansum(state.rejections[part]) > 0:
        return 0
    held = np.nan_to_num(state.running_end[part]) + np.nan_to_num(state.waiting_end[part])
    inside = np.concatenate((held[:1], held))
    stretches = plateaus_in(inside, came)
    size = max(stretches, key=lambda s: s[1] - s[0], default=(0, 0, 0))
    return size[2] if size[1] - size[0] >= _MOSTLY * len(came) else 0


class _Part:
    """A stretch of a state, read as the cumulative counters that it was made of.

    Which lengths there are is read off the whole window: a request's are counted when it finishes, so those of a short
    stretch are of others than those that came in it.
    """

    def __init__(self, state: EngineState, part: slice) -> None:
        self.state = state
        self.part = part

    def total(self, name: str, part: str = "value") -> Floats:
        increase = self._increase(name, part)
        return self._cumulative(increase if name in _LENGTHS else increase[self.part])

    def buckets(self, name: str) -> tuple[Floats, Floats]:
        histogram = self._histogram(name)
        counts = np.nan_to_num(histogram.counts)
        rows = [self._cumulative(row) for row in np.cumsum(counts, axis=1).T]
        return histogram.bounds, np.stack(rows)

    def _histogram(self, name: str) -> HistogramDelta:
        return self.state.prompt_length if name == "request_prompt_tokens" else self.state.output_length

    def _increase(self, name: str, part: str) -> Floats:
        if name == "time_to_first_token_seconds":
            return self.state.first_tokens
        if name == "prompt_tokens":
            return self.state.prompt_tokens
        if name == "prompt_tokens_cached":
            cached = self.state.cached_tokens
            return cached if np.isfinite(cached).any() else self.state.prefix_hits
        histogram = self._histogram(name)
        return histogram.sum if part == "sum" else histogram.count

    @staticmethod
    def _cumulative(increase: Floats) -> Floats:
        return np.concatenate(([0.0], np.cumsum(np.nan_to_num(increase))))
