"""Servers with one flag set wrongly, under the load that brings it out: what a knob can treat, for the loop to find.

Each is healthy without the flag, so that whether the loop ended well can be seen from outside: the cause is gone.
``UNTREATED`` says of the other causes that a knob is named for why there is no such server.
"""

from __future__ import annotations

from typing import Any

import msgspec

from whystall.emulator.engine.options import EngineOptions
from whystall.emulator.engine.workload import LengthClass
from whystall.emulator.profiles import load_profile
from whystall.emulator.server.deployment import Deployment, Serving
from whystall.emulator.server.faults.host import eager, lora
from whystall.emulator.server.frontend import FrontCosts
from whystall.emulator.server.media import ITEM_BYTES, Media
from whystall.emulator.server.traffic import TrafficPlan
from whystall.model.slo import Slo
from whystall.trials.emulated_target import NO_OPTIONS, Drift, EmulatedTarget

Span = tuple[int, int]
_PROFILE_S = 3.5  # until a window of 60 steps is written (H200 recording)
_IMAGE_S = 0.1  # of the API process, to decode, resize and cut up one
_CACHE_GB = 4.0  # of prepared images without the flag
_OPTION = {"num_gpu_blocks_override": "num_gpu_blocks"}


class Treatable(msgspec.Struct, frozen=True, kw_only=True):
    """A cause, the flags that make it, the knobs that are right answers, and the load: clients or requests a second."""

    cause: str
    name: str = ""  # where a cause has more than one
    flags: dict[str, Any]
    knobs: tuple[str, ...]
    clients: int = 0
    rate: float = 0.0
    mix: tuple[LengthClass, ...]
    profile: str = "h200-8b"
    max_model_len: int = 16384
    adapters: bool = False
    images: int = 0  # so many different ones are sent, one with each request
    profiled_every_s: float = 0.0  # a job profiles the server so often, as long as it has a profiler
    logged_request_s: float = 0.0  # of the API process for each request, while it logs them
    giants_every_s: float = 0.0  # a prompt that fills nearly all of the model's length comes so often
    host_s: float = 0.0  # of the engine's own loop a step
    slo: Slo = Slo(ttft_p95_s=1.0, itl_p95_s=0.1, errors_ratio=0.01)
    predicted: bool = True  # whether the emulator can express the knob
    deployed_s: float = (
        0.0  # the flags come with a restart so long after the look began; 0: they are there from the start
    )
    look_s: float = 45.0

    def roomy(self) -> Serving:
        """The server without the flags."""
        profile = load_profile(self.profile)
        profile = msgspec.structs.replace(profile, host_s=max(profile.host_s, self.host_s))
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
        for name in NO_OPTIONS:
            options.pop(name, None)
        serving = msgspec.structs.replace(
            roomy, options=msgspec.structs.replace(roomy.options, **options), flags={**roomy.flags, **self.flags}
        )
        return eager(serving, 1.0) if launches_one_by_one else serving

    def target(self, roomy: Serving | None = None, drift: Drift | None = None) -> EmulatedTarget:
        """The server, running. ``roomy`` may differ from :meth:`roomy` in its coefficients and its load."""
        plain = roomy or self.roomy()
        first = plain if self.deployed_s else self.serving(plain)
        target = EmulatedTarget(first, plain, drift=drift, after_restart=self._incident, name=self.cause)
        self._incident(target.deployment)
        if self.giants_every_s:
            target.deployment.at(target.now, self._giant)
        if self.profiled_every_s:
            target.deployment.at(target.now, self._profile)
        return target

    def look_begins(self, target: EmulatedTarget) -> None:
        """What happens while ``target`` is looked at."""
        if self.deployed_s:
            target.deploy(self.flags, self.deployed_s)

    def _incident(self, deployment: Deployment) -> None:
        """What a restart does not end, and what comes of a flag that is no option of the engine's model."""
        if self.adapters:
            lora(deployment, deployment.now, 0.34)
        if self.images:
            gigabytes = float(str(deployment.serving.flags.get("mm_processor_cache_gb", _CACHE_GB)))
            deployment.media = Media(self.images, int(gigabytes * 2**30 / ITEM_BYTES), _IMAGE_S)
        if self.logged_request_s:
            logs = deployment.serving.flags.get("enable_log_requests") not in (None, False, "false")
            costs = FrontCosts(request_s=self.logged_request_s) if logs else FrontCosts()
            deployment.front.costs = costs

    def _profile(self, deployment: Deployment, now: float) -> None:
        if "profiler_config" in deployment.serving.flags and now >= deployment.ready_at:
            for replica in deployment.replicas:
                replica.engine.pause += _PROFILE_S
            deployment.log.line(now, "Stopping profiler...", level="INFO", process="EngineCore")
        deployment.at(now + self.profiled_every_s, self._profile)

    def _giant(self, deployment: Deployment, now: float) -> None:
        longest = int(0.85 * self.max_model_len)
        deployment.traffic.also(LengthClass(1.0, (longest, longest), (16, 16)), now)
        deployment.at(now + self.giants_every_s, self._giant)


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
    Treatable(
        cause="head_of_line_prompt",
        flags={"num_gpu_blocks_override": 1900},
        knobs=("--num-gpu-blocks-override",),
        clients=16,
        mix=_mix((100, 200), (600, 1000)),
        max_model_len=28672,
        giants_every_s=8.0,
        slo=Slo(),
    ),
    Treatable(
        cause="frontend_cpu",
        flags={"enable_log_requests": True},
        knobs=("--enable-log-requests",),
        clients=24,
        mix=_mix((1200, 1600), (100, 300)),
        logged_request_s=0.107,
        slo=Slo(),
        predicted=False,  # the front end is no part of the engine's model
    ),
    Treatable(
        cause="engine_loop_cpu",
        flags={"async_scheduling": False},
        knobs=("--no-async-scheduling",),
        clients=12,
        mix=_mix((200, 400), (150, 250)),
        host_s=6e-3,
        slo=Slo(itl_p95_s=0.0105),
    ),
    # By a smaller token budget there is no such server: the steps take the same work in smaller pieces, so no mean changes
    # (with prompts of 8,000 tokens under a budget of 32,768: mean ITL and E2E -1% and 0%, ITL p95 -26%), and a page has no
    # exact p95 for a proof. The what-if says so, and does not recommend it.
    Treatable(
        cause="prefill_interference",
        flags={"enable_prefix_caching": False},
        knobs=("--no-enable-prefix-caching",),
        clients=24,
        mix=_mix((3800, 4200), (60, 100), shared_prefix=3500),
        predicted=False,  # what prompts share does not show while the cache is off
    ),
    Treatable(
        cause="prefill_bound",
        flags={"enable_prefix_caching": False},
        knobs=("--no-enable-prefix-caching",),
        clients=48,
        mix=_mix((3800, 4200), (8, 16), shared_prefix=3500),
        predicted=False,
    ),
    Treatable(
        cause="multimodal_preprocessing",
        flags={"mm_processor_cache_gb": 0.2},
        knobs=("--mm-processor-cache-gb",),
        clients=24,
        mix=_mix((1200, 1600), (100, 300)),
        images=32,
        slo=Slo(),
        predicted=False,  # the front end is no part of the engine's model
    ),
    Treatable(
        cause="observability_overhead",
        flags={"profiler_config": '{"profiler": "torch"}'},
        knobs=("--profiler-config",),
        clients=12,
        mix=_mix((200, 400), (150, 250)),
        profiled_every_s=15.0,
        slo=Slo(),
        predicted=False,  # nor is the profiler
    ),
)

# Further servers: what no single knob treats, because several flags changed at once (all of them back), and causes of the
# above that another change ends.
FURTHER = (
    Treatable(
        cause="kv_capacity",
        name="kv_capacity by fp8",  # nothing was set that keeps the pool small: the GPU is full
        flags={},
        knobs=("--kv-cache-dtype",),
        clients=72,
        mix=_mix((600, 900), (150, 250)),
        profile="h100-32b",
        slo=Slo(ttft_p95_s=1.0, errors_ratio=0.01),
    ),
    Treatable(
        cause="config_regression",
        flags={"max_num_seqs": 8, "enable_prefix_caching": False},
        knobs=("--max-num-seqs", "--no-enable-prefix-caching"),
        clients=24,
        mix=_mix((1200, 1600), (80, 160), shared_prefix=1024),
        deployed_s=30.0,
        look_s=120.0,
    ),
)

# Causes that a knob is named for and that have no scene: why no flag of an emulated server ends them.
UNTREATED = {
    "burst": "crowds at the same mean rate wait for the same steps: a longer queue lets more of them wait",
    "comm_bound": "a slow all-reduce that a flag brings is there from the start: without a healthy past or a trace the"
    " diagnosis does not tell it from the model's own steps, and a link that gets slow is no flag",
    "cpu_starved": "cores are the host's; larger pieces of a stream are no part of the model of the front end",
    "decode_bandwidth": "the speed of other weights' kernels is no part of the engine's model",
    "longer_outputs": "how long answers get is the clients' doing",
    "oom": "memory beside the pool is no part of the engine's model, and an engine that is dead cannot be tried",
    "overload": "--max-num-queued-reqs refuses what would wait: fewer are served late, none is served more; replicas are",
    "prefix_cache_loss": "nothing is lost in the window where a flag switches the cache off: what that costs is found as"
    " prefill_bound or prefill_interference, and the flag is taken away there",
    "sampler_cpu": "what is sampled is in the requests",
}
