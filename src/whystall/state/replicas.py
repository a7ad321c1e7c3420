"""Engines of other pages on the intervals of this one: who carries the load, and who has room."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec
import numpy as np

from whystall.model.engine_state import EngineState, Peer
from whystall.model.recording import Floats
from whystall.model.replica import Replica

MOST = 32  # a spread over more says nothing more
OVERLAP = 0.5  # of the intervals that the other must have been seen in
# So many times the requests that the others get: one that gets no more, and has a queue, has a trouble of its own (it is
# slower, or has fewer seats), and that others have room says nothing of that. Chance is some percent of a minute's requests.
MORE = 1.3


def replica_of(state: EngineState, id: str) -> Replica:
    """What others see of an engine, under ``id``."""
    return Replica(
        id=id,
        model=state.engine.model,
        t=state.start + np.concatenate([state.t_start[:1], state.t_end]),
        running=np.concatenate([state.running_start[:1], state.running_end]),
        waiting=np.concatenate([state.waiting_start[:1], state.waiting_end]),
        kv_usage=np.concatenate([state.kv_usage_start[:1], state.kv_usage_end]),
        tokens=_counted(state.generation_tokens),
        computed=_counted(state.computed_tokens),
        arrived=_counted(state.finished)
        + np.concatenate([state.running_start[:1], state.running_end])
        + np.nan_to_num(np.concatenate([state.waiting_start[:1], state.waiting_end])),
    )


def with_replicas(state: EngineState, others: Iterable[Replica]) -> EngineState:
    """The state with those of ``others`` beside it that serve the same model and were seen at the same time, where it gets
    more requests than they do.

    How many steps they made and how long their tokens took is left out: servers of their own share no step.
    """
    model = state.engine.model
    alike = [one for one in others if model and one.model == model][:MOST] if len(state.dt) else []
    found = tuple(peer for one in alike if (peer := _aligned(one, state)) is not None)
    if not found or _rate(replica_of(state, "")) < MORE * float(np.mean([_rate(one) for one in alike])):
        return state
    return msgspec.structs.replace(state, peers=(*state.peers, *found))


def _rate(one: Replica) -> float:
    """Requests that came, a second of what was seen; 0 where nothing says."""
    there = np.flatnonzero(np.isfinite(one.arrived))
    if len(there) < 2:
        return 0.0
    first, last = there[0], there[-1]
    return float((one.arrived[last] - one.arrived[first]) / (one.t[last] - one.t[first]))


def _counted(increments: Floats) -> Floats:
    found: Floats = np.concatenate([[0.0], np.cumsum(np.nan_to_num(increments))])
    return found


def _aligned(other: Replica, state: EngineState) -> Peer | None:
    if len(other.t) < 2:
        return None
    begin, end = state.start + state.t_start, state.start + state.t_end
    slack = float(np.median(np.diff(other.t)))
    seen = (begin >= other.t[0] - slack) & (end <= other.t[-1] + slack)
    if float(np.mean(seen)) < OVERLAP:
        return None
    nothing = np.full(len(seen), np.nan)

    def at(values: Floats, moments: Floats) -> Floats:
        there = np.isfinite(values)
        return np.interp(moments, other.t[there], values[there]) if there.any() else nothing

    def risen(values: Floats) -> Floats:
        return np.where(seen, at(values, end) - at(values, begin), np.nan)

    return Peer(
        id=other.id,
        running=np.where(seen, at(other.running, (begin + end) / 2), np.nan),
        waiting=np.where(seen, at(other.waiting, end), np.nan),
        kv_usage=np.where(seen, at(other.kv_usage, end), np.nan),
        steps=nothing,
        tokens=risen(other.tokens),
        computed=risen(other.computed),
        itl_s=nothing,
        ttft_sum=np.zeros(len(seen)),
        ttft_count=np.zeros(len(seen)),
    )
