"""Servers with one flag set wrongly, under the load that brings it out: what a knob can treat, for the loop to find.

Each is healthy without the flag, so that whether the loop ended well can be seen from outside: the cause is gone.
"""

from __future__ import annotations

from typing import Any

import msgspec

from whystall.emulator.engine.options import EngineOptions
from whystall.emulator.engine.workload import LengthClass
from whystall.emulator.profiles import load_profile
from whystall.emulator.server.deployment import Deployment, Serving
from whystall.emulator.server.faults.host import eager, lora
from whystall.emulator.server.traffic import TrafficPlan
from whystall.model.slo import Slo
from whystall.trials.emulated_target import Drift, EmulatedTarget

Span = tuple[int, int]
_OPTION = {"num_gpu_blocks_override": "num_gpu_blocks"}


class Treatable(msgspec.Struct, frozen=True, kw_only=True):
    """A cause, the flags that make it, the knobs that are right answers, and the load: clients or requests a second."""

    cause: str
    flags: dict[str, Any]
    knobs: tuple[str, ...]
    clients: int = 0
    rate: float = 0.0
    mix: tuple[LengthClass, ...]
    profile: str = "h200-8b"
    max_model_len: int = 16384
    adapters: bool = False
    slo: Slo = Slo(ttft_p95_s=1.0, itl_p95_s=0.1, errors_ratio=0.01)
    predicted: bool = True  # whether the emulator can express the knob

    def roomy(self) -> Serving:
        """The server without the flags."""
        profile = load_profile(self.profile)
        options = EngineOptions(
            num_gpu_blocks=profile.kv_blocks or 20000,
            max_num_seqs=1024,
            max_num_batched_tokens=8192,
            max_model_len=self.max_model_len,
            async_scheduling=True,
        )
        plan = TrafficPlan(mix=self.mix, clients=self.clients, rate=self.rate)
        return Serving(options=options, profile=profile, traffic=plan)

    def serving(self, roomy: Serving) -> Serving:
        """``roomy`` started with the flags."""
        options = {_OPTION.get(name, name): value for name, value in self.flags.items()}
        launches_one_by_one = options.pop("enforce_eager", False)
        options.pop("enable_lora", None)
        serving = msgspec.structs.replace(
            roomy, options=msgspec.structs.replace(roomy.options, **options), flags={**roomy.flags, **self.flags}
        )
        return eager(serving, 1.0) if launches_one_by_one else serving

    def target(self, roomy: Serving | None = None, drift: Drift | None = None) -> EmulatedTarget:
        """The server, running. ``roomy`` may differ from :meth:`roomy` in its coefficients and its load."""
        plain = roomy or self.roomy()
        target = EmulatedTarget(self.serving(plain), plain, drift=drift, after_restart=self._incident, name=self.cause)
        self._incident(target.deployment)
        return target

    def _incident(self, deployment: Deployment) -> None:
        if self.adapters:
            lora(deployment, deployment.now, 0.34)


def _mix(prompt: Span, output: Span, **more: Any) -> tuple[LengthClass, ...]:
    return (LengthClass(1.0, prompt, output, **more),)


TREATABLE = (
    Treatable(
        cause="seat_cap",
        flags={"max_num_seqs": 8},
        knobs=("--max-num-seqs",),
        clients=24,
        mix=_mix((200, 400), (80, 160)),
    ),
    Treatable(
        cause="kv_capacity",
        flags={"num_gpu_blocks_override": 1100},
        knobs=("--num-gpu-blocks-override",),
        clients=24,
        mix=_mix((800, 1200), (200, 400)),
    ),
    Treatable(
        cause="queue_limit",
        flags={"max_num_queued_reqs": 12},
        knobs=("--max-num-queued-reqs",),
        rate=12.0,
        mix=_mix((50, 100), (250, 350)),
        slo=Slo(ttft_p95_s=1.0, itl_p95_s=0.1, e2e_p95_s=10.0, errors_ratio=0.01),
    ),
    Treatable(
        cause="token_budget",
        flags={"max_num_batched_tokens": 96, "max_num_seqs": 64},
        knobs=("--max-num-batched-tokens",),
        clients=16,
        mix=_mix((600, 900), (40, 80)),
    ),
    Treatable(
        cause="launch_bound",
        flags={"enforce_eager": True},
        knobs=("--enforce-eager",),
        slo=Slo(itl_p95_s=0.02),
        clients=12,
        mix=_mix((200, 400), (150, 250)),
    ),
    Treatable(
        cause="lora_swapping",
        flags={"enable_lora": True, "max_loras": 2},
        knobs=("--max-loras",),
        clients=16,
        mix=_mix((200, 400), (150, 250)),
        adapters=True,
        predicted=False,
    ),
)
