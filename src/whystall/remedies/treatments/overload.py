"""More work than the server can do: shed it, then add capacity."""

from __future__ import annotations

from collections.abc import Iterator

from whystall.model.text import Text
from whystall.remedies.candidate import Candidate
from whystall.remedies.capacity import offered_over_served, replicas, shedding
from whystall.remedies.situation import Situation

_REPLICAS = Text("the load is carried", "负载得到承载")


def candidates(case: Situation) -> Iterator[Candidate]:
    """Replicas for the rate that comes; until then refuse what would wait."""
    yield replicas(offered_over_served(case), _REPLICAS)
    yield from shedding(case)
