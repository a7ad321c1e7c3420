"""Faults of the device, its links and its neighbours."""

from __future__ import annotations

import msgspec

from whystall.emulator.server.deployment import Deployment, Serving
from whystall.errors import UsageError

from .life import engine_dead
from .mechanism import add, profiles, scale


def throttle(d: Deployment, _t: float, severity: float) -> None:
    """The SM clock falls; compute slows with it, memory reads less."""
    ratio = max(1 - 0.5 * severity, 0.2)
    profiles(d, scale(token_s=1 / ratio, pair_s=1 / ratio, floor_s=1 + 0.6 * (1 / ratio - 1)))
    for replica in d.replicas:
        state = replica.gpu.state
        state.clock_ratio, state.throttle_bits = ratio, 0x20 | 0x40
        state.temperature_c = 88.0


def slow_kernel(d: Deployment, _t: float, severity: float) -> None:
    by = 1 + 4 * severity
    profiles(d, scale(decode_context_s=by, mixed_context_s=by, decode_request_s=by, pair_s=by))
    profiles(d, scale(floor_s=1 + 0.6 * severity))


def bandwidth(d: Deployment, _t: float, severity: float) -> None:
    by = 1 + 5 * severity
    profiles(d, scale(floor_s=by, decode_context_s=by, mixed_context_s=by))
    for replica in d.replicas:
        replica.gpu.state.bandwidth_ratio /= by


def with_offloading(serving: Serving, _severity: float) -> Serving:
    """Started with room for KV blocks in the host's memory."""
    return msgspec.structs.replace(serving, flags={**serving.flags, "kv_offloading_size": 64})


def gpu_fault(d: Deployment, t: float, severity: float) -> None:
    for replica in d.replicas:
        replica.gpu.state.xid = 79
    d.log.line(t, "NVRM: Xid (PCI:0000:18:00): 79, GPU has fallen off the bus.", level="ERROR", process="kernel")
    engine_dead(d, t + 1.0, severity)


def comm_bound(d: Deployment, _t: float, severity: float) -> None:
    """All-reduces go over a slow link: a share of every step, by its tokens."""
    profiles(d, add(link_s=0.006 * severity, link_token_s=2e-5 * severity))


def straggler(d: Deployment, _t: float, severity: float) -> None:
    """All ranks wait for the slowest one in every step."""
    profiles(d, lambda p: msgspec.structs.replace(p, link_s=p.link_s + 5 * severity * p.floor_s))
    for replica in d.replicas:
        replica.gpu.state.slow_rank = replica.engine.clock.profile.tensor_parallel - 1


def imbalance(d: Deployment, _t: float, severity: float) -> None:
    """The balancer prefers one replica, whatever its load."""
    if len(d.replicas) < 2:
        raise UsageError("replica_imbalance needs at least two replicas", "add --replicas 2")
    d.weights = [1.0 + 20.0 * severity] + [1.0] * (len(d.replicas) - 1)
