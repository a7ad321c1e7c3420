"""Since when first tokens come late where nobody promised when: against the window's own earlier requests.

Nothing is felt of a TTFT under 200 ms, and a long prompt takes what it takes. A loss is one that grew: a good part of the
requests get their first token above the felt wait and above twice what most got before (DESIGN.md, SLO).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from whystall.model.engine_state import EngineState
from whystall.state.histograms import mean_of, means, quantile_of

from .change import change_point
from .smoothing import SMOOTH_S, around, smooth_mean
from .thresholds import level

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

# CUSUM of the log likelihood ratio (method.md 2.2) of "half of the requests are late" against the share that was late
# before. Requests of one interval share their steps: an interval weighs no more than _CLIP nats, two or three late ones.
_HALF, _CLIP = 0.5, 4.0
_REFIT = 1.15  # what is usual is looked at again when that many times as many requests are known
_PRIOR_BLOCKS, _PRIOR = 3.0, 1.0  # stretches of SMOOTH_S and the clumping in them, before any was seen
_AFTER = 20  # intervals after the suspicion began among which the change is looked for


def late_first_tokens(state: EngineState) -> Bools:
    """Intervals in which first tokens come late, compared with those of the window before it began."""
    flags = np.zeros(len(state.dt), dtype=bool)
    if not len(state.ttft.bounds):
        return flags
    seen, mean = around(state, _observed(state)), smooth_mean(state, state.ttft.sum, state.ttft.count)
    for start, stop, bound, usual in _Watch(state).stretches():
        late = around(state, late_counts(state, bound))
        # Late were some before, and the mean with them: the loss is of those that are late beyond.
        grown = mean > max(bound, level("slow_factor") * usual.mean_s)
        flags[start:stop] = (grown | ((late > 0) & (late >= (usual.late + level("gain")) * seen)))[start:stop]
        flags[_began(state, start, stop, bound) : start] = True
    return np.asarray(flags & state.valid, dtype=bool)


def _began(state: EngineState, start: int, stop: int, bound: float) -> int:
    """Where the mean TTFT changed, if that was before the suspicion began and all that came since was late on the whole.

    Buckets are wide: a mean just above the bound is seen late in them.
    """
    observed = means(state.ttft)
    at = np.flatnonzero(np.isfinite(observed[: min(start + _AFTER, stop)]))
    split = change_point(np.log(observed[at])) if (observed[at] > 0).all() else None
    if split is None or at[split[0]] >= start:
        return start
    meanwhile = np.zeros(len(state.dt), dtype=bool)
    meanwhile[at[split[0]] : start] = True
    return int(at[split[0]]) if mean_of(state.ttft, meanwhile) > bound else start


def late_counts(state: EngineState, bound: float) -> Floats:
    """First tokens by interval that came later than ``bound`` seconds, linear inside the bucket that holds it.

    Without that part a bound of 0.26 s would count from 0.5 s on (vLLM's next edge). Before and after are counted alike.
    """
    edges = np.concatenate(([0.0], state.ttft.bounds, [np.inf]))
    with np.errstate(invalid="ignore"):
        part = np.where(np.isfinite(edges[1:]), (edges[1:] - bound) / (edges[1:] - edges[:-1]), edges[:-1] >= bound)
    return np.asarray(np.nan_to_num(state.ttft.counts) @ np.clip(part, 0.0, 1.0))


def _observed(state: EngineState) -> Floats:
    return np.asarray(np.nansum(state.ttft.counts, axis=1))


class Before(NamedTuple):
    """Of the usual intervals: the share of late first tokens, and the mean time to them."""

    late: float
    mean_s: float


class _Watch:
    """Goes through the intervals once. Those that raise no suspicion are what is usual for the ones after them."""

    def __init__(self, state: EngineState) -> None:
        self.state = state
        self.total = _observed(state)
        self.usual: Bools = np.zeros(len(state.dt), dtype=bool)
        self.known = 0.0
        self.bound, self.share, self.clumped = float("nan"), 1.0, 1.0
        self.before = Before(0.0, 0.0)
        self.late = np.zeros(len(state.dt))

    def stretches(self) -> list[tuple[int, int, float, Before]]:
        """(first, last + 1, bound in seconds, what was before) of each stretch with surely more late first tokens."""
        found: list[tuple[int, int, float, Before]] = []
        score, best, since, peak = 0.0, 0.0, 0, 0
        for i in range(len(self.total)):
            score = max(0.0, score + self._nats(i))
            if score > best:
                best, peak = score, i + 1
            if score > 0.0:
                continue
            if best > level("late_nats"):
                found.append((since, peak, self.bound, self.before))
            else:
                self._learn(since, i + 1)
            best, since = 0.0, i + 1
        return [*found, (since, peak, self.bound, self.before)] if best > level("late_nats") else found

    def _nats(self, i: int) -> float:
        """What the requests of an interval say for a loss; 0 where none came or too little is known of the others."""
        if not (self.total[i] > 0 and self.share < _HALF):
            return 0.0
        late, timely = self.late[i], self.total[i] - self.late[i]
        nats = late * np.log(_HALF / self.share) + timely * np.log((1 - _HALF) / (1 - self.share))
        return float(np.clip(nats / self.clumped, -_CLIP, _CLIP))

    def _learn(self, start: int, stop: int) -> None:
        self.usual[start:stop] = self.state.valid[start:stop]
        seen = float(self.total[self.usual].sum())
        if seen < level("baseline_requests") or seen < _REFIT * self.known:
            return
        self.known = seen
        self.bound = max(level("felt_wait"), level("slow_factor") * quantile_of(self.state.ttft, 0.5, self.usual)[0])
        self.late = late_counts(self.state, self.bound)
        late = float(self.late[self.usual].sum())
        self.clumped = self._clumped((late + 2) / (seen + 4))
        self.before = Before(late / seen, mean_of(self.state.ttft, self.usual))
        # Two more of either kind: a share seen among ten requests is no better known than that (Agresti and Coull).
        self.share = (late + 2 * self.clumped) / (seen + 4 * self.clumped)

    def _clumped(self, share: float) -> float:
        """How many requests are late together where one is, at least 1: what comes in a wave waits in a wave.

        The dispersion of the usual late counts over some seconds against that of requests each on its own (quasi-likelihood:
        the log likelihood ratio is divided by it).
        """
        block = np.floor(self.state.t_start[self.usual] / SMOOTH_S).astype(int)
        late, seen = (np.bincount(block - block.min(), x[self.usual]) for x in (self.late, self.total))
        late, seen = late[seen > 0], seen[seen > 0]
        off = (late - share * seen) ** 2 / (share * (1 - share) * seen)
        return max(1.0, float((off.sum() + _PRIOR_BLOCKS * _PRIOR) / (len(seen) + _PRIOR_BLOCKS)))
