"""Sums, rates and means over some seconds around each interval, and runs of flagged ones."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from whystall.model.engine_state import EngineState

from .thresholds import level

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

# Rates and means by interval are taken over this much time around it: single intervals hold a handful of requests.
SMOOTH_S = 10.0


def smooth_rate(state: EngineState, increase: Floats) -> Floats:
    """Rate per second of an increase over about ten seconds around each interval."""
    total, seconds = around(state, increase), around(state, np.where(np.isfinite(increase), state.dt, 0.0))
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(seconds > 0, total / seconds, np.nan)


def smooth_mean(state: EngineState, total: Floats, count: Floats, seconds: float = SMOOTH_S) -> Floats:
    """Mean of a histogram over about ten ``seconds`` around each interval, NaN where nothing was observed."""
    sums, counts = around(state, total, seconds), around(state, count, seconds)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(counts > 0, sums / counts, np.nan)


def around(state: EngineState, increase: Floats, seconds: float = SMOOTH_S) -> Floats:
    """Sum of an increase over about ``seconds`` around each interval; of several at once where they stand in columns."""
    first, last = window_edges(state, seconds)
    total = cumulative(increase)
    return np.asarray(total[last] - total[first])


def window_edges(state: EngineState, seconds: float = SMOOTH_S) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Indices of the scrapes between which the intervals lie whose middle is within half of ``seconds`` of each one's."""
    middle = (state.t_start + state.t_end) / 2
    first = np.searchsorted(middle, middle - seconds / 2, side="left")
    last = np.searchsorted(middle, middle + seconds / 2, side="right")
    return first, last


def cumulative(increase: Floats) -> Floats:
    """What has come up to each scrape, from 0 at the first; down the columns where there are several."""
    total = np.zeros((len(increase) + 1, *increase.shape[1:]))
    np.cumsum(np.nan_to_num(increase), axis=0, out=total[1:])
    return total


def keep_runs(flags: Bools, dt: Floats, least: float) -> Bools:
    """``flags`` without its runs that last under ``least`` seconds."""
    kept = flags.copy()
    for start, stop in runs(flags):
        if dt[start:stop].sum() < least:
            kept[start:stop] = False
    return kept


def runs(flags: Bools) -> list[tuple[int, int]]:
    """Runs of True as half-open index pairs."""
    edges = np.diff(np.concatenate(([0], flags.astype(np.int8), [0])))
    return list(zip(np.flatnonzero(edges == 1).tolist(), np.flatnonzero(edges == -1).tolist(), strict=True))


def joined(state: EngineState, flagged: Bools) -> list[tuple[int, int]]:
    """Runs of flagged intervals, joined over short gaps."""
    gap = max(level("episode_gap"), 2.5 * float(np.median(state.dt))) if len(state.dt) else 0.0
    joined: list[tuple[int, int]] = []
    for start, stop in runs(flagged):
        if joined and state.t_start[start] - state.t_end[joined[-1][1] - 1] <= gap:
            joined[-1] = (joined[-1][0], stop)
        else:
            joined.append((start, stop))
    return joined
