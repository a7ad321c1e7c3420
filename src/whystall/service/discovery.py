"""Targets that are not a server but tell of several: a Prometheus, a Ray cluster, a Deployment."""

from __future__ import annotations

from typing import Protocol

from whystall.sources.kubernetes.question import is_kubernetes, parse_kubernetes
from whystall.sources.prometheus.question import is_question, parse_question
from whystall.sources.ray.question import is_ray, parse_ray

from .pod_watching import PodWatching
from .polling import Polling
from .replica_watching import ReplicaWatching
from .rounds import Rounds
from .scraping import Taker
from .server import Watching
from .target import WatchTarget


class Discovery(Protocol):
    """The loop of one such target; it ends only when it is cancelled, or by an error that can never pass."""

    async def run(self) -> None: ...


def discovers(target: str) -> bool:
    """Whether servers are found behind a target, each to be watched by itself under the target's name, ``~`` and its own."""
    return is_question(target) or is_ray(target) or is_kubernetes(target)


def require_question(target: str) -> None:
    """Raises UsageError for a target that tells of several and cannot be read."""
    if is_kubernetes(target):
        parse_kubernetes(target)
    elif is_ray(target):
        parse_ray(target)
    else:
        parse_question(target)


def discovery(target: WatchTarget, how: Watching, taker: Taker) -> Discovery:
    """The loop for ``target``. Raises UsageError for one that cannot be read."""
    if is_kubernetes(target.target):
        return PodWatching(Rounds(target, how.interval_s, taker))
    if is_ray(target.target):
        return ReplicaWatching(Rounds(target, how.interval_s, taker))
    return Polling(Rounds(target, how.interval_s, taker, every_s=how.interval_s), how.window_s)
