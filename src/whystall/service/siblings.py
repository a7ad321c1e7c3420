"""The servers behind one target as each other's replicas, from the few figures that are kept of each."""

from __future__ import annotations

import math
from collections.abc import Iterable
from itertools import pairwise

import numpy as np

from whystall.model.replica import Replica
from whystall.sources.load_sharing import shares_load
from whystall.state.replicas import MOST

from .figures import increase
from .server import EngineSeen, Server


def siblings(server: Server, servers: Iterable[Server]) -> tuple[Replica, ...]:
    """The engines of the other servers that share its load; none where nobody says that it shares any."""
    group = _group(server)
    if not group[1]:
        return ()
    models = {engine.course.engine.model for engine in server.engines.values()}
    others = (one for one in servers if one is not server and _group(one) == group)
    engines = (engine for other in others for engine in other.engines.values())
    alike = [engine for engine in engines if engine.course.engine.model in models and len(engine.figures) > 1]
    return tuple(_replica(engine) for engine in alike[:MOST])


def _group(server: Server) -> tuple[str, str]:
    """The target's name, and whose load is shared: a member stands behind it as ``TARGET MEMBER``."""
    target, _, member = server.target.partition(" ")
    return server.name.partition("~")[0], shares_load(target, member) if member else ""


def _replica(engine: EngineSeen) -> Replica:
    figures = list(engine.figures)
    return Replica(
        id=engine.id,
        model=engine.course.engine.model,
        t=np.array([one.t for one in figures]),
        running=np.array([one.running for one in figures]),
        waiting=np.array([one.waiting for one in figures]),
        kv_usage=np.array([one.kv_ratio for one in figures]),
        tokens=np.array(_counted([one.tokens for one in figures])),
        computed=np.full(len(figures), math.nan),
        arrived=np.array(_counted([one.counts.get("e2e", math.nan) for one in figures]))
        + np.array([one.running + (one.waiting if math.isfinite(one.waiting) else 0.0) for one in figures]),
    )


def _counted(values: list[float]) -> list[float]:
    """A counter since the first page, over restarts."""
    found = [0.0]
    for before, after in pairwise(values):
        rise = increase(before, after)
        found.append(found[-1] + (rise if math.isfinite(rise) else 0.0))
    return found
