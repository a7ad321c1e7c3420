"""Which servers of a target take requests in turn: the pods of a Deployment, the replicas of a Serve deployment."""

from __future__ import annotations

from .kubernetes.question import is_kubernetes, parse_kubernetes
from .ray.question import is_ray


def shares_load(target: str, member: str) -> str:
    """Whose load ``member`` of ``target`` shares with others, "" where nobody says that it shares any: a Prometheus or a
    namespace tells of whatever is there."""
    if is_kubernetes(target):
        return target if parse_kubernetes(target).deployment else ""
    return member.rpartition(" ")[0] if is_ray(target) else ""  # "application/deployment replica"
