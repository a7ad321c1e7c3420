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
    )


def with_replicas(state: EngineState, others: Iterable[Replica]) -> EngineState:
    """The state with those of ``others`` beside it that serve the same model and were seen at the same time.

    How many steps they made and how long their tokens took is left out: servers of their own share no step.
    """
    model = state.engine.model
    alike = [one for one in others if model and one.model == model][:MOST] if len(state.dt) else []
    found = tuple(peer for one in alike if (peer := _aligned(one, state)) is not None)
    return msgspec.structs.replace(state, peers=(*state.peers, *found)) if found else state


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
