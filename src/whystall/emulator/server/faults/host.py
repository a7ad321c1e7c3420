"""Faults of the host: its processes, its cores, its threads."""

from __future__ import annotations

from functools import partial

import msgspec

from whystall.emulator.engine.request import Request
from whystall.emulator.server.deployment import Deployment, Replica, Serving

from .mechanism import add, profiles


def frontend_cpu(d: Deployment, _t: float, severity: float) -> None:
    """Each request costs the API process so much (tokenizing, templates) that its one thread is nearly full."""
    rate = d.traffic.plan.rate / 1.0 or 8.0
    d.front.costs = msgspec.structs.replace(d.front.costs, request_s=min(0.97, 0.9 + 0.04 * severity) / rate)


def cpu_starved(d: Deployment, _t: float, severity: float) -> None:
    d.front.costs = msgspec.structs.replace(d.front.costs, slowdown=1 + 24 * severity)
    profiles(d, add(host_s=0.012 * severity, front_s=0.25 * severity))


def engine_loop(d: Deployment, _t: float, severity: float) -> None:
    profiles(d, add(host_s=0.035 * severity))


def sampler(d: Deployment, _t: float, severity: float) -> None:
    profiles(d, add(host_request_s=0.0006 * severity))


def eager(serving: Serving, severity: float) -> Serving:
    """Started with --enforce-eager: every step launches its kernels one by one."""
    launches = max(serving.profile.host_eager_s, 0.02) * severity
    profile = msgspec.structs.replace(serving.profile, max_graph_tokens=0, host_s=launches, host_eager_s=launches)
    return msgspec.structs.replace(serving, profile=profile, flags={**serving.flags, "enforce_eager": True})


def nothing(_d: Deployment, _t: float, _severity: float) -> None:
    """It is there from the start."""


def multimodal(d: Deployment, _t: float, severity: float) -> None:
    """From now on each request brings an image that nobody sent before."""
    for replica in d.replicas:
        replica.engine.on_submit.append(partial(_image, replica))
    d.front.costs = msgspec.structs.replace(d.front.costs, request_s=0.1 * severity)
    profiles(d, add(front_s=0.4 * severity))


def _image(replica: Replica, _request: Request) -> None:
    replica.meters.count("mm_cache_queries", 1)


def structured(d: Deployment, _t: float, severity: float) -> None:
    """Every request waits for its grammar, and sampling masks cost the engine's thread time per request."""
    compile_s = 1.5 * severity
    profiles(d, add(host_request_s=0.0004 * severity))

    def hold(request: Request) -> None:
        request.blocked = True
        d.at(request.arrival + compile_s, lambda _d, _now: setattr(request, "blocked", False))

    for replica in d.replicas:
        replica.engine.on_submit.append(hold)


def two_adapters(serving: Serving, _severity: float) -> Serving:
    """Started with LoRA, two adapters in a batch at most."""
    changed = msgspec.structs.replace(serving.options, max_loras=2)
    flags = {**serving.flags, "enable_lora": True, "max_loras": 2}
    return msgspec.structs.replace(serving, options=changed, flags=flags)


def lora(d: Deployment, _t: float, severity: float) -> None:
    """Requests ask for more adapters than a batch may hold: who asks for another waits until one has left."""
    adapters = max(int(12 * severity), 3)

    def tag(request: Request) -> None:
        request.adapter = 1 + request.id % adapters

    for replica in d.replicas:
        replica.engine.on_submit.append(tag)


def memory_leak(d: Deployment, t: float, severity: float) -> None:
    """The API process grows until the kernel kills it at its cgroup's limit; it is started again, and grows on."""
    room = 2.5e9

    def grow(deployment: Deployment, now: float) -> None:
        deployment.leaked_bytes += 100e6 * severity
        if deployment.leaked_bytes >= room:
            deployment.leaked_bytes = 0.0
            deployment.restart(deployment.serving, now)
        deployment.at(max(now, deployment.ready_at) + 1.0, grow)

    grow(d, t)


def network(d: Deployment, _t: float, severity: float) -> None:
    """Every request is under way for longer before the server has it."""
    d.network_s += 0.4 * severity


def gateway(d: Deployment, _t: float, severity: float) -> None:
    """Something before the server collects the stream and passes it on in large pieces."""
    d.buffer_bytes = int(16384 * severity)
