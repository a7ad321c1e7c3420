"""The servers behind one target as each other's replicas, from the few figures that are kept of each."""

from __future__ import annotations

import math
from collections.abc import Iterable
from itertools import pairwise

import numpy as np

from whystall.model.replica import Replica
from whystall.state.replicas import MOST

from .figures import Figures, increase
from .server import EngineSeen, Server


def siblings(server: Server, servers: Iterable[Server]) -> tuple[Replica, ...]:
    """The engines of the other servers that the same Deployment, cluster or Prometheus tells of; none for one of its own."""
    target, member, _ = server.name.partition("~")
    if not member:
        return ()
    models = {engine.course.engine.model for engine in server.engines.values()}
    others = (one for one in servers if one is not server and one.name.startswith(f"{target}~"))
    engines = (engine for other in others for engine in other.engines.values())
    alike = [engine for engine in engines if engine.course.engine.model in models and len(engine.figures) > 1]
    return tuple(_replica(engine) for engine in alike[:MOST])


def _replica(engine: EngineSeen) -> Replica:
    figures = list(engine.figures)
    return Replica(
        id=engine.id,
        model=engine.course.engine.model,
        t=np.array([one.t for one in figures]),
        running=np.array([one.running for one in figures]),
        waiting=np.array([one.waiting for one in figures]),
        kv_usage=np.array([one.kv_ratio for one in figures]),
        tokens=np.array(_counted(figures)),
        computed=np.full(len(figures), math.nan),
    )


def _counted(figures: list[Figures]) -> list[float]:
    """Tokens since the first page, over restarts."""
    found = [0.0]
    for before, after in pairwise(figures):
        rise = increase(before.tokens, after.tokens)
        found.append(found[-1] + (rise if math.isfinite(rise) else 0.0))
    return found
