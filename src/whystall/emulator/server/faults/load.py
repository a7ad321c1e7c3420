"""Faults of limits and of the load."""

from __future__ import annotations

import msgspec

from whystall.emulator.server.deployment import Deployment
from whystall.emulator.server.traffic import TrafficPlan

from .mechanism import lengths, more, options, traffic, with_giants


def kv_capacity(d: Deployment, _t: float, severity: float) -> None:
    """The pool shrinks to what a third of the present batch needs."""
    for replica in d.replicas:
        engine = replica.engine
        options_ = engine.options
        mean = sum(c.share * (sum(c.prompt) + sum(c.output)) / 2 for c in d.traffic.plan.mix)
        mean /= sum(c.share for c in d.traffic.plan.mix)
        inside = max(d.traffic.plan.clients, len(engine.scheduler.running), 8)
        least = -(-options_.max_model_len // options_.block_size) + 1
        wanted = max(int(inside * mean / options_.block_size / (1 + 2 * severity)), min(least, 512))
        engine.scheduler.pool.withhold(max(engine.scheduler.pool.num_blocks - wanted, 0))


def seat_cap(d: Deployment, _t: float, severity: float) -> None:
    inside = max(d.traffic.plan.clients, max(len(r.engine.scheduler.running) for r in d.replicas), 8)
    options(d, max_num_seqs=max(int(inside / (2 * severity + 1)), 1), max_num_active_seqs=None)


def queue_limit(d: Deployment, _t: float, severity: float) -> None:
    inside = max(d.traffic.plan.clients, max(r.engine.unfinished for r in d.replicas), 4)
    options(d, max_num_queued_reqs=max(int(inside / (1 + severity)), 1))


def token_budget(d: Deployment, _t: float, severity: float) -> None:
    options(d, max_num_batched_tokens=max(int(128 / severity), 16))


def prefill_interference(d: Deployment, _t: float, severity: float) -> None:
    longest = min(d.serving.options.max_model_len - 32, 24000)
    options(d, max_num_batched_tokens=32768)
    traffic(d, lambda plan: with_giants(plan, 0.04 * severity * sum(c.share for c in plan.mix), longest))


def head_of_line(d: Deployment, _t: float, severity: float) -> None:
    """Now and then a prompt comes that needs most of the pool, and all behind it wait until it fits whole."""
    for replica in d.replicas:
        pool = replica.engine.scheduler.pool
        pool.withhold(max(pool.num_blocks - 1400, 0))
    longest = min(d.serving.options.max_model_len - 32, int(0.8 * 1400 * d.serving.options.block_size))
    traffic(d, lambda plan: with_giants(plan, 0.03 * severity * sum(c.share for c in plan.mix), longest))


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
