"""How long a request that arrives waits for admission, from what stands on the page at each scrape."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from whystall.model.engine_state import EngineState

from .smoothing import smooth_rate
from .thresholds import level

Floats = NDArray[np.float64]

_APART = 10.0  # times the usual interval


def queue_delay(state: EngineState) -> Floats:
    """Seconds that a request arriving in the interval will wait: waiting over the admission rate (Little's law).

    Fresh where ``request_queue_time_seconds`` is not: that one fills when requests finish. 0 where nobody waits;
    infinite where some wait and nobody has been admitted around the interval.
    """
    waiting = _mean_gauge(state.waiting_start, state.waiting_end)
    admitted = smooth_rate(state, np.where(np.isnan(state.first_tokens), state.finished, state.first_tokens))
    # Where nothing counts admissions, each request gets a token at least: no more are admitted than tokens come.
    admitted = np.where(np.isnan(admitted), smooth_rate(state, state.generation_tokens), admitted)
    with np.errstate(divide="ignore", invalid="ignore"):
        delay = np.where(waiting > 0, waiting / admitted, 0.0)
    # Between scrapes far apart (a clock that was set, pages that were lost) nobody saw the queue that stood at both ends.
    usual = float(np.median(state.dt)) if len(state.dt) else 0.0
    delay = np.where(state.dt > max(_APART * usual, level("hang_min")), np.nan, delay)
    # One scrape with a queue between two without is a step in progress, not a wait.
    both = np.fmin(state.waiting_start, state.waiting_end) > 0
    neighbours = np.convolve(np.nan_to_num(state.waiting_end) > 0, np.ones(5))[2:][: len(both)] >= 2
    return np.where(np.isnan(waiting), np.nan, np.where(both | neighbours, delay, 0.0))


def _mean_gauge(start: Floats, end: Floats) -> Floats:
    return np.where(np.isnan(start), end, np.where(np.isnan(end), start, (start + end) / 2))
