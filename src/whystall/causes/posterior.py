"""Marginal probabilities of causes over all sets of at most two of them."""

from __future__ import annotations

import math
from itertools import combinations

from whystall.model.diagnosis import Evidence

from .entry import CauseEntry

# A second cause at the same time is about one incident in ten (method.md 2.3).
PAIR_PRIOR = 0.1


def log_odds(cause: CauseEntry, evidence: dict[str, Evidence]) -> float:
    """``bias + sum(weight x strength)`` over the evidence that was seen; what is missing says nothing."""
    seen = ((weight, evidence[name].strength) for name, weight in cause.weights.items() if name in evidence)
    return cause.bias + sum(weight * strength for weight, strength in seen)


def marginals(odds: dict[str, float]) -> dict[str, float]:
    """P(cause) by enumerating the empty set, every single cause and every pair (method.md 2.3), exact.

    ``P(set)`` is proportional to the prior of its size times ``exp`` of the sum of its causes' log odds.
    """
    names = list(odds)
    sets: list[tuple[tuple[str, ...], float]] = [((), 0.0)]
    sets += [((name,), odds[name]) for name in names]
    sets += [((a, b), math.log(PAIR_PRIOR) + odds[a] + odds[b]) for a, b in combinations(names, 2)]
    top = max(weight for _, weight in sets)
    total = sum(math.exp(weight - top) for _, weight in sets)
    result = dict.fromkeys(names, 0.0)
    for members, weight in sets:
        for name in members:
            result[name] += math.exp(weight - top) / total
    return result
