"""Limits that nothing reports, read off plateaus and marked as inferred."""

from __future__ import annotations

import msgspec
import numpy as np

from whystall.model.diagnosis import Limit
from whystall.model.engine_state import EngineState

from .histograms import mean_of, quantile_of

# Fewer scrapes with a queue than this say nothing of a plateau.
_MIN_SCRAPES = 3
_MIN_SECONDS = 8.0
# A cap shows as one value in most scrapes: gauges are taken after finished requests left, so not in all of them.
_SHARE_AT_CAP = 0.6
# What the gauges show stands while the next step runs, which is long where it holds a prompt: then seats that are just
# free show for a third of the time and more. The cap is still the value most seen and the highest, and nearly all
# scrapes lie just below it; what blocks or lengths bind swings more widely.
_SHARE_OFTEN = 0.35
_SHARE_NEAR_CAP = 0.9
# With steps full of prompts, running moves by one or two and stands for some seconds: only what stands for longer is a cap.
_SHARE_STANDS = 0.7
_STANDS_S = 20.0
_SHARE_OF_MEAN = 0.8
_MANY_SCRAPES = 8
_JUST_FREE = 0.1  # of the seats, at least two
# Steps filled by the token budget hold prompt tokens mostly; a queue for seats leaves most steps to decoding.
_PROMPT_SHARE = 0.8
# Below this usage, blocks are not what a waiting request waits for, unless its prompt is very long.
_KV_ROOM = 0.9


def with_inferred(state: EngineState) -> EngineState:
    """The state with ``max_num_seqs`` or ``max_num_batched_tokens`` added where a plateau shows one that is not known."""
    found = []
    seats = _seats(state)
    if seats and _filled_by_prompts(state) and not _refilled(state, seats):
        seats = None
    if seats and state.limit("max_num_seqs") is None:
        found.append(Limit("max_num_seqs", seats, "inferred", "plateau"))
    elif not seats and state.limit("max_num_batched_tokens") is None and (budget := _budget(state)):
        found.append(Limit("max_num_batched_tokens", budget, "inferred", "plateau"))
    return msgspec.structs.replace(state, limits=(*state.limits, *found)) if found else state


def _queued(state: EngineState) -> np.ndarray:
    """Intervals at whose end requests waited, blocks were free and nothing was preempted."""
    with np.errstate(invalid="ignore"):
        return (state.waiting_end > 0) & (state.kv_usage_end < _KV_ROOM) & ~(state.preemptions > 0)


def _seats(state: EngineState) -> float | None:
    queued = _queued(state)
    if queued.sum() < _MIN_SCRAPES or state.dt[queued].sum() < _MIN_SECONDS:
        return None
    running = state.running_end[queued]
    cap = float(running.max())
    at_cap, near = (running == cap).mean(), (running >= cap - max(2.0, _JUST_FREE * cap)).mean()
    packed = at_cap >= _SHARE_OFTEN and near >= _SHARE_NEAR_CAP and _most_seen(running) == cap
    most = float(np.nanmax(state.running_end[_since_restart(state) :], initial=0.0))
    return cap if 1 <= cap >= most and (at_cap >= _SHARE_AT_CAP or packed) else None


def _since_restart(state: EngineState) -> int:
    """The first interval of the process that serves now: one before it may have had other seats."""
    away = np.flatnonzero(~state.valid)
    return int(away[-1]) + 1 if len(away) else 0


def _most_seen(values: np.ndarray) -> float:
    """The value most often seen, the highest of several."""
    seen, counts = np.unique(values, return_counts=True)
    return float(seen[counts == counts.max()][-1])


def _refilled(state: EngineState, seats: float) -> bool:
    """Whether as many requests finished under the queue as run at once, and running stood at one value all the same.

    A queue for steps that prompts fill lets running swing by one or two as requests come and go.
    """
    queued = _queued(state)
    running = state.running_end[queued]
    long = len(running) >= _MANY_SCRAPES and state.dt[queued].sum() >= _STANDS_S
    refilled = float(np.nansum(state.finished[queued])) >= seats
    return bool(long and refilled and ((running == seats).mean() >= _SHARE_STANDS or _uneven(state, queued)))


def _uneven(state: EngineState, queued: np.ndarray) -> bool:
    """Whether half of the gaps between tokens are well under the mean: steps that a budget fills take all alike."""
    median, mean = quantile_of(state.itl, 0.5, queued)[0], mean_of(state.itl, queued)
    return bool(median < _SHARE_OF_MEAN * mean)


def _filled_by_prompts(state: EngineState) -> bool:
    queued = _queued(state)
    prompt, output = np.nansum(state.computed_tokens[queued]), np.nansum(state.generation_tokens[queued])
    return bool(queued.sum() >= _MIN_SCRAPES and prompt > _PROMPT_SHARE * (prompt + output))


def _budget(state: EngineState) -> float | None:
    """Tokens a step over the queued intervals where prompts fill the steps.

    The mean over many steps, not the value of one interval: a chunk in flight counts 0 and the last one the whole prompt.
    """
    queued = _queued(state)
    lasts = state.dt[queued].sum() >= 0.5 * state.dt[state.running_end > 0].sum()
    if not _filled_by_prompts(state) or not lasts:  # a queue that comes and goes is a wave of arrivals
        return None
    steps = np.nansum(state.steps[queued])
    tokens = np.nansum(state.computed_tokens[queued]) + np.nansum(state.generation_tokens[queued])
    return float(round(tokens / steps)) if steps > 0 else None
