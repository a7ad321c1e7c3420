"""Probabilities of sets of at most three causes: noisy-OR, explaining away, correlated evidence tempered (method.md 2.3)."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import chain, combinations
from typing import NamedTuple

from whystall.model.diagnosis import Evidence

from .entry import CauseEntry

# A second cause at the same time is about one incident in ten (method.md 2.3).
PAIR_PRIOR = 0.1
# A trigger hurts through a limit; without one of its limits in the set something is missing from the story.
LONE_TRIGGER = 0.1
# A kind of loss comes with a cause that makes it, and now and then as a side effect of one that is not said to.
MAKES = 0.9
LEAK = 0.3
# But for what is measured net of the server's own time, which nothing in the server makes.
LEAKS = {"client": 0.05}
# What speaks against a cause, and is absent, says little for it: P(absent | cause) is 1, and most incidents lack it anyway.
ABSENT = 0.25
# Of so many causes the sets of three are weighed: more have no share that one could see.
_LIKELY = 8
Causes = frozenset[str]


class Pull(NamedTuple):
    """What one family of evidence says for and against a cause, in nats: ``speaks_for >= 0 >= against``."""

    speaks_for: float
    against: float


class Posterior(NamedTuple):
    """``sets`` by probability, the most probable first; ``marginal`` of each cause over them."""

    sets: tuple[tuple[Causes, float], ...]
    marginal: dict[str, float]

    def rival(self, cause: str) -> tuple[Causes, float]:
        """The best set that contradicts the best one and does not name ``cause``; the empty set with 0 where none does.

        A set that contains the best one, or is contained in it, is no other answer but a longer or a shorter one.
        """
        best = self.sets[0][0]
        others = (s for s in self.sets if cause not in s[0] and not (s[0] <= best or s[0] >= best))
        return next(others, (frozenset(), 0.0))


def family(evidence_id: str) -> str:
    """The family of a piece of evidence: those that share the part before the dot are measured on the same thing."""
    return evidence_id.partition(".")[0]


def pulls(cause: CauseEntry, evidence: dict[str, Evidence]) -> dict[str, Pull]:
    """``weight x strength`` by family, over the evidence that was seen; what is missing says nothing.

    Pieces of one family are correlated: ``n`` equal ones count as ``sqrt(n)`` (each tempered by ``1 / sqrt(n)``), unequal
    ones by the root of the sum of squares, which is the same for equal ones and never less than the strongest.
    """
    squares: dict[str, list[float]] = {}
    for name, weight in cause.weights.items():
        if name in evidence:
            pull = weight * said(weight, evidence[name].strength)
            squares.setdefault(family(name), [0.0, 0.0])[pull < 0] += pull * pull
    return {group: Pull(math.sqrt(up), -math.sqrt(down)) for group, (up, down) in squares.items()}


def said(weight: float, strength: float) -> float:
    """``strength`` as it counts: what a cause predicts and is missing speaks fully against it (``weight > 0``); what would
    contradict it and is missing leaves it standing, as it does all others (``weight < 0``).
    """
    return ABSENT * strength if weight < 0 and strength < 0 else strength


def log_odds(cause: CauseEntry, evidence: dict[str, Evidence]) -> float:
    """``bias`` and the pulls of all families."""
    return cause.bias + sum(p.speaks_for + p.against for p in pulls(cause, evidence).values())


def posterior(
    entries: Iterable[CauseEntry],
    evidence: dict[str, Evidence],
    kinds: dict[str, float] | None = None,
    temperature: float = 1.0,
) -> Posterior:
    """All sets of at most two of ``entries``, and of three of the likeliest: a trigger, its limit and another one.

    The log weight of a set is that of its causes, with what both explain counted once, of the prior of its size, and of
    the kinds of loss: ``share x log P(kind | set)``, a noisy-OR over the causes that make the kind.
    """
    entries = list(entries)
    pulled = {e.id: pulls(e, evidence) for e in entries}
    odds = {e.id: e.bias + sum(p.speaks_for + p.against for p in pulled[e.id].values()) for e in entries}
    kinds = kinds or {}
    weights: dict[Causes, float] = {frozenset(): given(kinds, ())}
    for one in entries:
        weights[frozenset((one.id,))] = odds[one.id] + given(kinds, (one,))
    likely = sorted(entries, key=lambda e: -odds[e.id])[:_LIKELY]
    for some in chain(combinations(entries, 2), combinations(likely, 3)):
        shared = _explained_again([pulled[one.id] for one in some])
        weights[frozenset(one.id for one in some)] = sum(odds[one.id] for one in some) - shared + given(kinds, some)
    return _normalised(weights, list(odds), temperature)


def given(kinds: dict[str, float], causes: tuple[CauseEntry, ...]) -> float:
    """What a set weighs before any evidence: the prior of its size and story, and the kinds of loss that were seen.

    A trigger together with a limit through which it acts is one incident and not two that came at the same time.
    """
    ids = {cause.id for cause in causes}
    told = sum(not ids & set(cause.acts_through) for cause in causes)  # stories: a trigger shares that of its limit
    story = math.log(PAIR_PRIOR) * max(told - 1, 0)
    story += math.log(LONE_TRIGGER) * sum(bool(c.acts_through) and not ids & set(c.acts_through) for c in causes)
    return story + _kinds_seen(kinds, causes)


def _explained_again(some: Sequence[dict[str, Pull]]) -> float:
    """How much the sum of causes' log odds is above that of a noisy-OR of them, over the families that several explain.

    With likelihood ratios A and B and a rare leak, noisy-OR gives A + B - 1: evidence that one cause accounts for gives
    the other little (explaining away).
    """
    groups: dict[str, list[float]] = {}
    for pulled in some:
        for group, pull in pulled.items():
            groups.setdefault(group, []).append(pull.speaks_for)
    return sum(sum(each) - _any(each) for each in groups.values() if len(each) > 1)


def _any(each: Sequence[float]) -> float:
    """log(the sum of exp(x) less all but one of them), for x >= 0."""
    high = max(each)
    return high + math.log(sum(math.exp(x - high) for x in each) - (len(each) - 1) * math.exp(-high))


def _kinds_seen(kinds: dict[str, float], causes: tuple[CauseEntry, ...]) -> float:
    """log P(the kinds of loss that were seen | causes that make some of them), each weighed by its share."""
    total = 0.0
    for kind, share in kinds.items():
        unexplained = (1 - LEAKS.get(kind, LEAK)) * (1 - MAKES) ** sum(kind in cause.hurts_as for cause in causes)
        total += share * math.log(1 - unexplained)
    return total


def _normalised(weights: dict[Causes, float], names: list[str], temperature: float) -> Posterior:
    top = max(weights.values())
    scaled = {causes: math.exp((weight - top) / temperature) for causes, weight in weights.items()}
    total = sum(scaled.values())
    sets = sorted(((causes, value / total) for causes, value in scaled.items()), key=lambda s: (-s[1], sorted(s[0])))
    marginal = dict.fromkeys(names, 0.0)
    for causes, probability in sets:
        for name in causes:
            marginal[name] += probability
    return Posterior(tuple(sets), marginal)
