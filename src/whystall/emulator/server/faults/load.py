"""Faults of limits and of the load."""

from __future__ import annotations

import msgspec

from whystall.emulator.engine.workload import LengthClass
from whystall.emulator.server.deployment import Deployment, Serving
from whystall.emulator.server.traffic import TrafficPlan

from .mechanism import Apply, lengths, more, traffic, with_giants


def _lengths(plan: TrafficPlan) -> tuple[float, float]:
    """Mean tokens of a prompt and of an output."""
    shares = sum(c.share for c in plan.mix)
    prompt = sum(c.share * sum(c.prompt) / 2 for c in plan.mix) / shares
    return prompt, sum(c.share * sum(c.output) / 2 for c in plan.mix) / shares


def _lifetime_s(serving: Serving) -> float:
    """About how long a request is inside."""
    prompt, output = _lengths(serving.traffic)
    return output * 1.4 * serving.profile.floor_s + 2 * prompt * serving.profile.token_s


def _inside(serving: Serving) -> float:
    """About how many requests are inside at a time, as the load is before the fault."""
    plan = serving.traffic
    return float(plan.clients) if plan.clients else max(plan.rate * _lifetime_s(serving) / serving.replicas, 4.0)


def _tokens_per_s(serving: Serving) -> float:
    """About how many tokens a replica schedules in a second, as the load is before the fault."""
    return sum(_lengths(serving.traffic)) * _inside(serving) / _lifetime_s(serving)


def _with_flags(serving: Serving, **flags: object) -> Serving:
    """Started with other flags, as the log repeats them."""
    names = {"num_gpu_blocks": "num_gpu_blocks_override"}
    options = msgspec.structs.replace(serving.options, **flags)
    shown = {names.get(name, name): value for name, value in flags.items()}
    return msgspec.structs.replace(serving, options=options, flags={**serving.flags, **shown})


def _inside_blocks(serving: Serving) -> float:
    """About how many blocks the requests inside hold when they end."""
    return _inside(serving) * sum(_lengths(serving.traffic)) / serving.options.block_size


def small_pool(serving: Serving, severity: float) -> Serving:
    """A KV pool that holds twice what is inside now."""
    size = serving.options.block_size
    blocks = int(2 * _inside_blocks(serving) / severity)
    return _with_flags(serving, num_gpu_blocks=max(blocks, -(-serving.options.max_model_len // size) + 2))


def few_seats(serving: Serving, severity: float) -> Serving:
    """Seats for twice as many as are inside now."""
    return _with_flags(serving, max_num_seqs=max(int(2 * _inside(serving) / severity), 1))


def short_queue(serving: Serving, severity: float) -> Serving:
    """Admission control at three times what is inside now."""
    return _with_flags(serving, max_num_queued_reqs=max(int(3 * _inside(serving) / severity), 1))


def small_budget(serving: Serving, severity: float) -> Serving:
    """A token budget with room for two and a half times what is scheduled now, at the steps that prefill takes."""
    step_s = max(serving.profile.host_mixed_s, serving.profile.floor_s)
    budget = max(int(2.5 * _tokens_per_s(serving) * step_s / severity), 16)
    return _with_flags(serving, max_num_batched_tokens=budget)


def small_pool_and_giants(serving: Serving, _severity: float) -> Serving:
    """A pool of twice what is inside now: one giant prompt nearly fills it."""
    least = -(-serving.options.max_model_len // serving.options.block_size) + 2
    return _with_flags(serving, num_gpu_blocks=max(least, int(2 * _inside_blocks(serving))))


def large_budget(serving: Serving, _severity: float) -> Serving:
    return _with_flags(serving, max_num_batched_tokens=32768)


def load_step(by: float) -> Apply:
    """More of the same load: what brings a limit out that was there all the time."""

    def apply(d: Deployment, _t: float, severity: float) -> None:
        traffic(d, lambda plan: more(plan, 1 + (by - 1) * severity))

    return apply


def client_step(by: float) -> Apply:
    """The same, but as clients that wait for their answers: they queue for a limit without growing without bound."""

    def apply(d: Deployment, _t: float, severity: float) -> None:
        clients = max(int(_inside(d.serving) * by * severity * d.serving.replicas), 2)
        traffic(d, lambda plan: msgspec.structs.replace(plan, rate=0.0, clients=clients, think_s=0.0))

    return apply


def prefill_interference(d: Deployment, _t: float, severity: float) -> None:
    """Giant prompts, as many as keep the engine busy for two thirds of its time; each holds up all who decode."""
    longest = min(d.serving.options.max_model_len - 32, 12000)
    profile = d.serving.profile
    seconds = longest * profile.token_s + longest**2 / 2 * profile.pair_s
    busy = min(0.65 * severity, 0.9) * d.serving.replicas
    traffic(d, lambda plan: with_giants(plan, busy / seconds, longest))


def head_of_line(d: Deployment, t: float, severity: float) -> None:
    """Every few seconds a prompt comes that needs most of the pool, and all behind it wait until it fits whole."""
    pool = d.replicas[0].engine.scheduler.pool.num_blocks * d.serving.options.block_size
    longest = min(d.serving.options.max_model_len - 32, int(0.85 * pool))
    giant = LengthClass(1.0, (longest, longest), (16, 16))

    def send(deployment: Deployment, now: float) -> None:
        deployment.traffic.also(giant, now)
        deployment.at(now + 8.0 / severity, send)

    send(d, t)


def prefix_loss(d: Deployment, _t: float, _severity: float) -> None:
    def without(plan: TrafficPlan) -> TrafficPlan:
        mix = tuple(msgspec.structs.replace(c, shared_prefix=0, prefix="") for c in plan.mix)
        return msgspec.structs.replace(plan, mix=mix)

    traffic(d, without)


def burst(d: Deployment, _t: float, severity: float) -> None:
    traffic(d, lambda plan: msgspec.structs.replace(plan, burst=max(int(60 * severity), 2)))


def low_demand(d: Deployment, _t: float, severity: float) -> None:
    traffic(d, lambda plan: msgspec.structs.replace(plan, rate=plan.rate / (20 * severity), clients=0))


def client_limited(d: Deployment, _t: float, severity: float) -> None:
    clients = max(int(4 / severity), 1)
    traffic(d, lambda plan: msgspec.structs.replace(plan, rate=0.0, clients=clients, think_s=0.0))


def prefill_bound(d: Deployment, _t: float, severity: float) -> None:
    """Prompts many times as long, outputs short: all work is prefill."""
    traffic(d, lambda plan: lengths(plan, 8 * severity, 0.3))


def longer_prompts(d: Deployment, _t: float, severity: float) -> None:
    traffic(d, lambda plan: lengths(plan, 1 + 4 * severity, 1))


def longer_outputs(d: Deployment, _t: float, severity: float) -> None:
    traffic(d, lambda plan: lengths(plan, 1, 1 + 4 * severity))


def overload(d: Deployment, _t: float, severity: float) -> None:
    traffic(d, lambda plan: more(plan, 1 + 4 * severity))
