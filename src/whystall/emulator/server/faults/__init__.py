"""Faults: each changes a mechanism of the emulated server (a rate, a capacity, a delay, a length), never a number shown.

``severity`` 1 is what an incident usually looks like; 0.5 is mild, 2 is severe. Each can be set at the start or at a
moment; :func:`inject` does both. Ids are those of the causes (DESIGN.md section 2).
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Sequence

import msgspec

from whystall.emulator.server.deployment import Deployment, Serving
from whystall.errors import UsageError

from . import device, host, life, load
from .mechanism import Apply, stall

Prepare = Callable[[Serving, float], Serving]


def as_it_is(serving: Serving, _severity: float) -> Serving:
    """Started as any other server."""
    return serving


class Fault(msgspec.Struct, frozen=True):
    """A fault: the cause that it makes, the mechanism that it changes, and the change.

    ``outlives_restart``: what it changes (the load, the way to the server, what happens every so often) is not the server's
    process, so that it goes on after a restart, and would be there twice if it were set again.
    """

    id: str
    mechanism: str
    apply: Apply
    prepare: Prepare = as_it_is  # what the server is started with, where the fault is a limit that a load brings out
    outlives_restart: bool = False


_GO_ON = """
    kv_capacity seat_cap queue_limit token_budget prefill_bound prefill_interference head_of_line_prompt longer_prompts
    longer_outputs overload burst prefix_cache_loss low_demand client_limited jit_compile gc_pause kv_offload_stall
    observability_overhead network gateway host_memory_leak replica_imbalance warm_up
"""
_JIT = "Triton kernel during inference: fused_moe_kernel. This causes a latency spike; consider extending warmup"
_GC = "GC took {ms:.3f}ms to complete. Generation: 2"

FAULTS = {
    fault.id: msgspec.structs.replace(fault, outlives_restart=fault.id in _GO_ON.split())
    for fault in (
        Fault("kv_capacity", "a small KV pool under a growing load", load.client_step(6), load.small_pool),
        Fault("seat_cap", "few seats under a growing load", load.client_step(6), load.few_seats),
        Fault("queue_limit", "--max-num-queued-reqs under a growing load", load.load_step(4), load.short_queue),
        Fault(
            "token_budget", "few max_num_batched_tokens under a growing load", load.client_step(6), load.small_budget
        ),
        Fault(
            "prefill_bound",
            "prompts several times as long at the same rate",
            load.prefill_bound,
        ),
        Fault(
            "prefill_interference",
            "giant prompts under a large token budget",
            load.prefill_interference,
            load.large_budget,
        ),
        Fault(
            "head_of_line_prompt",
            "every few seconds a prompt that needs most of the pool",
            load.head_of_line,
            load.small_pool_and_giants,
        ),
        Fault(
            "longer_prompts",
            "prompts grow at the same rate",
            load.longer_prompts,
        ),
        Fault(
            "longer_outputs",
            "outputs grow at the same rate",
            load.longer_outputs,
        ),
        Fault("overload", "arrivals several times as many", load.overload),
        Fault("burst", "arrivals come in crowds at the same mean rate", load.burst),
        Fault("prefix_cache_loss", "prompts stop sharing their prefix", load.prefix_loss),
        Fault("low_demand", "hardly any arrivals", load.low_demand),
        Fault("client_limited", "a few clients that wait for each answer", load.client_limited),
        Fault("frontend_cpu", "each request costs the API process a large part of a core", host.frontend_cpu),
        Fault("multimodal_preprocessing", "each request is preprocessed in the API process", host.multimodal),
        Fault("engine_loop_cpu", "the engine's own thread takes longer than the GPU", host.engine_loop),
        Fault("sampler_cpu", "sampling costs the engine's thread time per request", host.sampler),
        Fault("cpu_starved", "the server's processes share too few cores", host.cpu_starved),
        Fault("launch_bound", "steps without CUDA graphs", host.nothing, host.eager),
        Fault("structured_output", "requests wait for their grammar", host.structured),
        Fault("lora_swapping", "more adapters than a batch may hold", host.lora, host.two_adapters),
        Fault("jit_compile", "kernels compiled while serving", stall(12.0, 2.0, _JIT)),
        Fault("gc_pause", "the engine's process collects garbage", stall(5.0, 0.8, _GC, "DEBUG")),
        Fault(
            "kv_offload_stall", "steps wait for blocks from the host's memory", stall(1.5, 0.6), device.with_offloading
        ),
        Fault(
            "observability_overhead",
            "a profiler window that is written out",
            stall(30.0, 4.0, "Stopping profiler...", "INFO"),
        ),
        Fault("gpu_throttle", "the SM clock falls to half", device.throttle),
        Fault("slow_kernel", "attention several times as slow", device.slow_kernel),
        Fault("decode_bandwidth", "memory reads at a sixth of the rate", device.bandwidth),
        Fault("gpu_fault", "the GPU falls off the bus", device.gpu_fault),
        Fault("comm_bound", "all-reduces over a slow link", device.comm_bound),
        Fault("straggler_rank", "one rank slower than the others", device.straggler),
        Fault("replica_imbalance", "the balancer prefers one replica", device.imbalance),
        Fault("network", "requests are under way for longer; only a client sees it", host.network),
        Fault("gateway", "streams are passed on in pieces of 16 KiB; only a client sees it", host.gateway),
        Fault("host_memory_leak", "the API process grows until it is killed and started again", host.memory_leak),
        Fault("weight_loading", "two minutes of loading before it serves", life.weight_loading),
        Fault("warm_up", "first-seen shapes take longer", life.warm_up),
        Fault("engine_hang", "steps stop coming back", life.engine_hang),
        Fault("engine_dead", "the engine's process dies", life.engine_dead),
        Fault("startup_failure", "the engine does not start", life.startup_failure),
        Fault("oom", "the GPU's memory runs out", life.oom),
        Fault("config_regression", "a restart with fewer seats and no prefix cache", life.config_regression),
        Fault("version_regression", "a restart into a slower version", life.version_regression),
    )
}
# Causes that have no fault, and why: they are left out of every emulated score.
WITHOUT = {
    "spec_decode_inefficient": "the engine model has no speculative decoding",
    "pd_transfer": "no disaggregated prefill",
    "pipeline_bubble": "no pipeline parallelism",
    "dp_lockstep": "no lockstep of data-parallel ranks",
    "moe_imbalance": "no experts",
}


class Planned(msgspec.Struct, frozen=True):
    """A fault as asked for on the command line: ``ID[@SECONDS][*SEVERITY]``."""

    fault: Fault
    after_s: float = 0.0
    severity: float = 1.0


def parse_fault(text: str) -> Planned:
    """Read ``kv_capacity@30*1.5``. Raises UsageError that names what can be set."""
    rest, _, strength = text.partition("*")
    name, _, moment = rest.partition("@")
    if name not in FAULTS:
        why = f" ({WITHOUT[name]})" if name in WITHOUT else ""
        near = difflib.get_close_matches(name, FAULTS, n=1)
        meant = f"Did you mean {near[0]}? " if near and not why else ""
        raise UsageError(f"there is no fault {name!r}{why}", f"{meant}whystall emulate --list-faults shows them.")
    try:
        planned = Planned(FAULTS[name], float(moment or 0), float(strength or 1))
    except ValueError as error:
        raise UsageError(f"{text!r} is not ID[@SECONDS][*SEVERITY]", "For example: kv_capacity@30*1.5") from error
    if not 0 <= planned.after_s < 1e7 or not 0 < planned.severity <= 10:
        raise UsageError(f"{text!r}: seconds must be positive and the severity in (0, 10]", "Try kv_capacity@30")
    return planned


def prepared(serving: Serving, planned: Sequence[Planned]) -> Serving:
    """How the server is started so that the faults can show."""
    for plan in planned:
        serving = plan.fault.prepare(serving, plan.severity)
    return serving


def inject(deployment: Deployment, planned: Planned) -> None:
    """Set ``planned`` on ``deployment``: at once, or at its moment after the start."""
    if planned.after_s <= 0:
        planned.fault.apply(deployment, deployment.now, planned.severity)
        return
    moment = deployment.start + planned.after_s
    deployment.at(moment, lambda d, t: planned.fault.apply(d, t, planned.severity))
