"""Each engine of a page with what the others did at the same time: the spread over engines is evidence for each.

Engines of one model are replicas of each other. One of another model is none, and yet may be who keeps the GPU busy.
"""

from __future__ import annotations

import msgspec
import numpy as np

from whystall.model.engine_state import EngineState, Peer

from .histograms import means


def with_peers(states: list[EngineState]) -> list[EngineState]:
    """The same states, each with the others as its peers; a lone engine has none."""
    if len(states) < 2:
        return states
    seen = [peer_of(state) for state in states]
    return [_among(own, state, states, seen) for own, state in enumerate(states)]


def _among(own: int, state: EngineState, states: list[EngineState], seen: list[Peer]) -> EngineState:
    others = [at for at in range(len(states)) if at != own]
    replicas = tuple(seen[at] for at in others if states[at].engine.model == state.engine.model)
    beside = np.sum([np.nan_to_num(seen[at].running) for at in others], axis=0)
    return msgspec.structs.replace(state, peers=replicas, running_beside=np.asarray(beside))


def peer_of(state: EngineState) -> Peer:
    """What others see of an engine."""
    return Peer(
        id=state.engine.id,
        running=(state.running_start + state.running_end) / 2,
        waiting=state.waiting_end,
        kv_usage=state.kv_usage_end,
        steps=state.steps,
        tokens=state.generation_tokens,
        computed=state.computed_tokens,
        itl_s=means(state.itl),
        ttft_sum=state.ttft.sum,
        ttft_count=state.ttft.count,
    )
