"""The healthy server on which each fault shows: its load leaves room, and what the fault takes is missed."""

from __future__ import annotations

import msgspec

from whystall.emulator.engine.options import EngineOptions
from whystall.emulator.engine.workload import LengthClass
from whystall.emulator.profiles import load_profile
from whystall.emulator.server.deployment import Serving
from whystall.emulator.server.traffic import TrafficPlan

Span = tuple[int, int]


class Load(msgspec.Struct, frozen=True, kw_only=True):
    """Requests a second with prompts and outputs of these lengths, on so many replicas."""

    rate: float = 10.0
    prompt: Span = (1200, 1600)
    output: Span = (100, 300)
    shared_prefix: int = 0
    replicas: int = 1
    max_model_len: int = 16384
    profile: str = "h200-8b"
    num_gpu_blocks: int = 0  # 0: all that the GPU has room for


_USUAL = Load()
_OTHERS = {
    # A prefix that is worth caching, at a rate that cannot do without.
    "prefix_cache_loss": Load(rate=24.0, shared_prefix=1024),
    # Two replicas that are busy enough for one to miss the other.
    "replica_imbalance": Load(rate=24.0, replicas=2),
    # Four GPUs that wait for each other in every step.
    "comm_bound": Load(rate=6.0, profile="h200-32b-tp4-nvlink"),
    "straggler_rank": Load(rate=6.0, profile="h200-32b-tp4-nvlink"),
    # A GPU that reads weights for most of a step of few tokens; on the H200 the host would be what is short then.
    "token_budget": Load(rate=3.0, prompt=(300, 500), profile="l40s-8b"),
    # A pool as on 80 GB: on this GPU's own, decoding five times as long slows everybody but fills nothing.
    "longer_outputs": Load(num_gpu_blocks=20000),
    # Many that decode for long: a giant's prefill holds up all of them.
    "prefill_interference": Load(rate=8.0, prompt=(200, 400), output=(600, 1000), max_model_len=32768),
    # Requests that are small against the pool and stay long, beside prompts that nearly fill it.
    "head_of_line_prompt": Load(rate=3.0, prompt=(100, 200), output=(600, 1000), max_model_len=28672),
}


def load_of(fault: str) -> Load:
    """The load on which ``fault`` shows."""
    return _OTHERS.get(fault, _USUAL)


def healthy_serving(fault: str) -> Serving:
    """An 8B model, mostly on one H200, under a load that it serves well, for ``fault`` to spoil."""
    load = load_of(fault)
    profile = load_profile(load.profile)
    options = EngineOptions(
        num_gpu_blocks=load.num_gpu_blocks or profile.kv_blocks,
        max_num_seqs=1024,
        max_model_len=load.max_model_len,
        async_scheduling=True,
    )
    mix = LengthClass(1.0, load.prompt, load.output, shared_prefix=load.shared_prefix)
    plan = TrafficPlan(mix=(mix,), rate=load.rate)
    return Serving(options=options, profile=profile, replicas=load.replicas, traffic=plan)
