"""Which emulated runs the corpus holds: faults x severities x workloads x loads x hardware x seeds (method.md 2.8)."""

from __future__ import annotations

import random
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import msgspec

from whystall.emulator.engine.engine import Engine
from whystall.emulator.engine.options import EngineOptions
from whystall.emulator.engine.workload import LengthClass, Load, Phase
from whystall.emulator.profiles import load_profile
from whystall.emulator.server.deployment import Serving
from whystall.emulator.server.faults import FAULTS
from whystall.emulator.server.traffic import TrafficPlan

# Prompts and outputs in tokens. "agent" shares the system prompt and the tools, "bursty" comes four at a time.
WORKLOADS: dict[str, TrafficPlan] = {
    "chat": TrafficPlan(mix=(LengthClass(1.0, (300, 900), (100, 300)),)),
    "rag": TrafficPlan(mix=(LengthClass(1.0, (3000, 5000), (80, 200)),)),
    "code": TrafficPlan(mix=(LengthClass(1.0, (400, 1200), (500, 1000)),)),
    "agent": TrafficPlan(mix=(LengthClass(1.0, (2400, 3600), (80, 240), shared_prefix=2048),)),
    "bursty": TrafficPlan(
        mix=(LengthClass(0.8, (300, 900), (100, 300)), LengthClass(0.2, (2000, 3000), (50, 150))), burst=4
    ),
}
LOADS = (0.25, 0.45, 0.65)  # of what 64 clients that wait for their answers get; from about 0.8 on nothing has to fail
SEVERITIES = (0.5, 1.0, 2.0)
# Fitting sees the first two only: the weights are fitted on FIT, the temperature on TEMPERATURE, and BLIND is scored.
PROFILES = {
    "fit": ("h200-8b", "a100-80gb-8b", "l40s-8b", "h100-32b-tp2-nvlink", "h200-70b-tp4-nvlink"),
    "temperature": ("b200-32b", "h100-8b", "a100-40gb-8b-tp2-pcie"),
    "blind": ("rtx4090-8b", "rtx4090-8b-tp2-pcie", "mi300x-8b", "mi300x-32b-tp2-nvlink"),
}
HELD_WORKLOAD = "code"  # no split but the blind one has it
WITHHELD = ("frontend_cpu", "lora_swapping", "gpu_throttle")  # a process, a queue, a device: never fitted, never known
WITHHELD_TABLE = Path(__file__).with_name("withheld_weights.json")  # the fit that never saw them
# method.md 2.5, by the faults that make each look.
LOOK_ALIKES: dict[str, tuple[str, ...]] = {
    "longer prompts / prefix loss": ("longer_prompts", "prefix_cache_loss"),
    "throttle / longer prompts / more load": ("gpu_throttle", "longer_prompts", "overload"),
    "throttle / engine loop": ("gpu_throttle", "engine_loop_cpu"),
    "links / engine loop": ("comm_bound", "engine_loop_cpu"),
    "seats / KV / budget / overload": ("seat_cap", "kv_capacity", "token_budget", "overload"),
    "overload / burst": ("overload", "burst"),
    "few clients / low demand": ("client_limited", "low_demand"),
    "front end / network": ("frontend_cpu", "network"),
    "preemption / longer outputs": ("kv_capacity", "longer_outputs"),
    "giant prompt / burst": ("head_of_line_prompt", "burst"),
    "warm-up / regression": ("warm_up", "version_regression"),
}
# What the signals of an arm cannot tell apart, by mechanism: naming one of the class, or abstaining with it, is right.
# Written before anything was fitted. No emulated run has host samples or a trace of kernels.
_ALL = "all|metrics|no gpu|no log|no client|no configuration|no lengths|no prefix counters|no KV gauge|5 s|15 s"
_DEVICE = ("slow_kernel", "decode_bandwidth", "comm_bound", "straggler_rank")  # longer steps: only a trace says which
_HOST = ("engine_loop_cpu", "sampler_cpu")  # the engine's thread: only py-spy or a trace says what it does
ALIKE: tuple[tuple[str, tuple[str, ...]], ...] = (
    (_ALL, _DEVICE),
    (_ALL, _HOST),
    # Without the GPU's counters a step is long, and nothing says whether the GPU was busy or slow in it.
    ("metrics|no gpu", (*_DEVICE, *_HOST, "gpu_throttle", "launch_bound")),
    # Without the log a standstill has no name, and neither has a death.
    ("metrics|no log", ("gc_pause", "jit_compile", "kv_offload_stall", "observability_overhead")),
    ("metrics|no log", ("engine_dead", "engine_hang", "oom", "gpu_fault", "startup_failure")),
    # Who is set aside waits for an adapter or for a grammar: the flags say what there is.
    ("metrics|no log|no configuration", ("lora_swapping", "structured_output")),
    ("metrics|no log|no configuration", ("engine_loop_cpu", "sampler_cpu", "launch_bound")),
    # No page tells the version: steps that are longer since a restart may be another one's.
    ("metrics|no log", ("version_regression", *_DEVICE)),
    ("no prefix counters", ("prefix_cache_loss", "longer_prompts", "prefill_bound")),
    ("no KV gauge", ("kv_capacity", "overload", "head_of_line_prompt")),
)
# While a server is not back nobody without its log can tell a start that takes long from one that failed.
UNREADY: tuple[str, tuple[str, ...]] = ("metrics|no log", ("startup_failure", "weight_loading"))
# What happens before the server moves nothing on its page: healthy is then all that can be said. Neither does a page tell
# steps without CUDA graphs from the first one on from those of a larger model, nor a start that took long from a planned
# one: the flags and the log do (added after the first scored runs, before the seeds that are scored with it were drawn).
UNSEEN = {"metrics": ("network", "gateway", "launch_bound", "weight_loading"), "no client": ("network", "gateway")}
HEALTHY = ("steady", "swing", "deploy", "flush", "drift", "lost")
FROM_THE_START = {"low_demand", "client_limited", "warm_up"}
IDLE = {"low_demand", "client_limited"}
LINKED = {"comm_bound", "straggler_rank"}  # that only a model on several GPUs can have
SECONDS = 90.0


class Case(msgspec.Struct, frozen=True):
    """One run. ``faults`` is empty for a healthy one, whose ``control`` says what happens in it."""

    split: str
    profile: str
    workload: str
    load: float
    seed: int
    faults: tuple[str, ...] = ()
    severity: float = 1.0
    control: str = ""
    replicas: int = 1

    @property
    def key(self) -> str:
        what = "+".join(self.faults) or self.control
        return f"{self.profile}/{self.workload}/{self.load}/{what}*{self.severity}/{self.seed}"

    @property
    def at_s(self) -> float:
        """When the fault is set, or where the run is looked at: no two alike."""
        return 0.0 if set(self.faults) & FROM_THE_START else 25.0 + self.seed % 11


def drawn(seed: int, each: int, split: str) -> list[Case]:
    """``each`` cases of every fault, a quarter as many pairs of faults, and a fifth of all healthy.

    The grid's cells are drawn without replacement, so that every workload, load and profile has its share.
    """
    rng = random.Random(f"{seed}/{split}")
    cases = [c for fault in FAULTS for c in _cells(rng, split, each, (fault,))]
    cases += _pairs(rng, split, len(cases) // 4)
    wanted = max(len(cases) // 4, len(HEALTHY))
    for number in range(wanted):
        cases += _cells(rng, split, 1, (), HEALTHY[number % len(HEALTHY)])
    return cases


def _cells(rng: random.Random, split: str, count: int, faults: tuple[str, ...], control: str = "") -> list[Case]:
    profiles = [p for p in PROFILES[split] if not set(faults) & LINKED or load_profile(p).tensor_parallel > 1]
    workloads = [w for w in WORKLOADS if split == "blind" or w != HELD_WORKLOAD]
    if "prefix_cache_loss" in faults:
        workloads = ["agent"]
    severities = SEVERITIES if len(faults) == 1 else (1.0,)
    grid = [(p, w, load, s) for p in profiles for w in workloads for load in LOADS for s in severities]
    replicas = 2 if "replica_imbalance" in faults else 1
    chosen: list[tuple[str, str, float, float]] = []
    while len(chosen) < count:
        chosen += rng.sample(grid, min(len(grid), count - len(chosen)))
    return [
        Case(split, p, w, load, rng.randrange(1, 1 << 30), faults, s if faults else 1.0, control, replicas)
        for p, w, load, s in chosen
    ]


# Faults that leave the other one visible: none of them ends the serving or takes the load away.
JOINABLE = (
    "kv_capacity",
    "seat_cap",
    "longer_prompts",
    "longer_outputs",
    "overload",
    "burst",
    "prefix_cache_loss",
    "frontend_cpu",
    "engine_loop_cpu",
    "cpu_starved",
    "structured_output",
    "gpu_throttle",
    "slow_kernel",
    "comm_bound",
    "gc_pause",
    "jit_compile",
    "kv_offload_stall",
    "observability_overhead",
    "network",
    "gateway",
    "prefill_interference",
)


def _pairs(rng: random.Random, split: str, count: int) -> Iterator[Case]:
    for _ in range(count):
        a, b = sorted(rng.sample(JOINABLE, 2))
        yield from _cells(rng, split, 1, (a, b))


@cache
def capacity(profile: str, workload: str) -> float:
    """Requests a second that 64 clients get who wait for their answers; measured on the emulator."""
    engine = Engine(_options(profile), load_profile(profile))
    phase = Phase(seconds=120.0, mix=WORKLOADS[workload].mix, clients=64)
    Load(seed=1).play(engine, [phase])
    return sum(40 < r.finished <= 120 for r in engine.journal.finished) / 80.0


def _options(profile: str) -> EngineOptions:
    """vLLM's defaults for an API server (vllm.md 5.5): a reader who knows the device takes them for what was not set."""
    machine = load_profile(profile)
    gib = machine.memory_bytes / 1024**3
    large = gib >= 70 and "a100" not in machine.gpu
    return EngineOptions(
        num_gpu_blocks=machine.kv_blocks,
        max_num_seqs=1024 if large else 256,
        max_model_len=16384,
        max_num_batched_tokens=(16384 if gib >= 160 else 8192) if large else 2048,
        async_scheduling=True,
    )


def serving(case: Case) -> Serving:
    """The healthy server of a case, under its load."""
    rate = case.load * capacity(case.profile, case.workload) * case.replicas
    swing = 0.45 if case.control == "swing" else 0.0
    plan = msgspec.structs.replace(WORKLOADS[case.workload], rate=rate, swing=swing, period_s=70.0)
    return Serving(
        options=_options(case.profile),
        profile=load_profile(case.profile),
        replicas=case.replicas,
        traffic=plan,
        seed=case.seed,
    )
