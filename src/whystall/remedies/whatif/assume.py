"""What is no flag: replicas, the client's pool, the rate of requests, the host's cores."""

from __future__ import annotations

import math
from collections.abc import Callable

import msgspec
import numpy as np

from whystall.errors import UsageError
from whystall.model.text import Text
from whystall.remedies.setup import number_of

from .express import Expressed
from .load import at_rate, shared_by, with_clients
from .split import with_cores
from .subject import Subject
from .variant import Variant

Assume = Callable[[Subject, Variant, float], Expressed]
_OPEN = Text(
    "requests come at their own pace here, not from a pool of clients: ask with --rate",
    "这里的请求按自身节奏到达，并非来自固定客户端池：请用 --rate 询问",
)
_NO_HOST = Text(
    "the host was not seen, so nothing says how much its cores are short: look with the server's host (whystall record)",
    "没有主机信号，无从得知缺多少核：请连同主机一起采集（whystall record）",
)
_BALANCED = Text(
    "requests are taken to be handed out in turn; a balancer that ignores prefixes loses cache hits",
    "假定请求轮流分发；不考虑前缀的均衡会损失缓存命中",
)


def replicas(_: Subject, variant: Variant, count: float) -> Expressed:
    number = max(int(count), 1)
    if number == 1:
        return variant
    changed = variant.under(lambda load: shared_by(load, number)).warned(_BALANCED)
    return msgspec.structs.replace(changed, replicas=number)


def clients(subject: Subject, variant: Variant, count: float) -> Expressed:
    if not any(segment.clients for segment in subject.load(1, anew=False).segments):
        return _OPEN
    return variant.under(lambda load: with_clients(load, max(int(count), 1)))


def rate(_: Subject, variant: Variant, factor: float) -> Expressed:
    return variant.under(lambda load: at_rate(load, factor))


def host_cores(subject: Subject, variant: Variant, count: float) -> Expressed:
    host = subject.state.host
    if host is None:
        return _NO_HOST
    delay = float(np.nan_to_num(np.nanmean(np.append(host.run_delay_ratio[subject.inside], 0.0))))
    now = host.cpu_quota or host.allowed_cpus or host.cpus or math.nan
    if not count > now:  # fewer cores: the same work takes turns on what is left
        return _NO_HOST if math.isnan(now) else _slower(subject, variant, count / now)
    # Ready but not on a CPU: with enough cores that part of the time is gone, with some more a part of it.
    faster = 1.0 + delay * (1.0 - now / count)
    return _faster(subject, variant, faster)


def _slower(subject: Subject, variant: Variant, ratio: float) -> Variant:
    return _faster(subject, variant, ratio)


def _faster(subject: Subject, variant: Variant, by: float) -> Variant:
    like, overlap = subject.machine.like, subject.options.async_scheduling
    return variant.then(lambda p, d: with_cores(p, d, like(d.number), overlap, by))


ASSUMED: dict[str, Assume] = {"replicas": replicas, "clients": clients, "rate": rate, "host_cores": host_cores}


def assumption(text: str) -> tuple[str, str]:
    """``replicas=2`` as a name and a value. Raises UsageError naming what is wrong."""
    name, equals, value = text.partition("=")
    name = name.strip().replace("-", "_")
    if name not in ASSUMED or not equals:
        raise UsageError(
            f"{text!r} is nothing that can be assumed", f"Known are {', '.join(ASSUMED)}; write replicas=2."
        )
    amount(name, value)
    return name, value.strip()


def amount(name: str, text: str) -> float:
    """The number in ``x1.5`` or ``2``. Raises UsageError where there is none above 0."""
    found = number_of(text.strip().removeprefix("x"))
    if found is None or not 0 < found < 10_000:
        raise UsageError(f"{name} takes a number above 0, not {text.strip()!r}", "Write 2, or x1.5 for a rate.")
    return found


def assumed(subject: Subject, variant: Variant, wanted: dict[str, str]) -> Expressed:
    """``variant`` with what is no flag changed too, or why that cannot be expressed."""
    for name, value in wanted.items():
        found = ASSUMED[name](subject, variant, amount(name, value))
        if isinstance(found, Text):
            return found
        variant = found
    return variant
