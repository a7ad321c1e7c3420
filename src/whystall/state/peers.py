"""Each engine of a page with what the others did at the same time: the spread over engines is evidence for each."""

from __future__ import annotations

import msgspec

from whystall.model.engine_state import EngineState, Peer

from .histograms import means


def with_peers(states: list[EngineState]) -> list[EngineState]:
    """The same states, each with the others as its peers; a lone engine has none."""
    if len(states) < 2:
        return states
    seen = [peer_of(state) for state in states]
    return [
        msgspec.structs.replace(state, peers=tuple(peer for at, peer in enumerate(seen) if at != own))
        for own, state in enumerate(states)
    ]


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
