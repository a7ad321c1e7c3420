"""How long the answers of a window are, request by request: who has ended as it was seen, who has not at least so long.

Histograms of lengths fill when requests end, so a window that ends amid long answers has seen the short ones of them, and
one whose answers have grown has mostly seen those of before. Both are undone here: a request that ends after L tokens got
its first one L tokens ago, by a clock that ticks once for each token of a running request; those that got a first token
and have not ended are drawn from what is left above their age (Kaplan and Meier's estimate, births nearby only).
"""

from __future__ import annotations

import math
import random
from bisect import bisect_right
from statistics import fmean
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
_GROUP = 40  # births that are taken to be alike: fewer have no distribution
_UNLIKE = math.log(1.3)  # forty lengths that differ by 60% of their mean have one that is off by a tenth
_STRAY = 0.1  # of a group: so few that seem far older than all that ended are ends that were found at a neighbour
_FEW = 5  # ends in a group: fewer say nothing of who goes on


class Seen(NamedTuple):
    """Per interval: first tokens, the mean gap between tokens (seconds, NaN where none), and how long it was; ``ended``
    has the lengths of those that ended in each. ``running`` go on at the window's end."""

    first: NDArray[np.int64]
    gap_s: Floats
    dt: Floats
    ended: list[list[float]]
    running: int


class _Answer(NamedTuple):
    tokens: float
    over: bool  # False: it goes on, and has had so many so far


def outputs_by_birth(seen: Seen, usual: float, rng: random.Random) -> list[list[int]] | None:
    """For each interval the answers' lengths, in tokens, of the requests that got their first token in it.

    None where ``usual``, the mean of all that ended, is about right all along: then the buckets, which are wide, would
    only blur it.
    """
    found: list[list[int]] = []
    before: list[_Answer] = []
    unlike = False
    for group in map(_without_strays, _groups(_matched(seen))):
        own = [one for births in group for one in births]
        # Of births of which hardly one has ended, nothing tells that they are unlike those before.
        before = own if sum(one.over for one in own) >= _FEW else before + own
        curve = _Survival(before)
        whole = [[curve.whole(one, rng) for one in births] for births in group]
        lengths = [length for births in whole for length in births]
        unlike = unlike or bool(lengths and abs(math.log(fmean(lengths) / usual)) > _UNLIKE)
        found += whole
    return found if unlike else None


def lengths_ended(counts: Floats, sums: Floats, bounds: Floats, rng: random.Random) -> list[list[float]]:
    """Lengths in each interval from its buckets' counts, moved so that they add up to its sum."""
    edges = np.concatenate([[0.0], bounds])
    rows = []
    for row, total in zip(counts, sums, strict=True):
        own = [rng.uniform(edges[b], edges[b + 1]) for b, n in enumerate(row[: len(bounds)]) for _ in range(int(n))]
        own += [float(bounds[-1])] * int(row[len(bounds) :].sum())
        by = float(total) / sum(own) if own and sum(own) > 0 and total > 0 else 1.0
        rows.append([max(length * by, 1.0) for length in own])
    return rows


def _matched(seen: Seen) -> list[list[_Answer]]:
    """Each interval's births: as long as they were where they ended, else as long as they are by now."""
    with np.errstate(invalid="ignore", divide="ignore"):
        ticks = np.where(seen.gap_s > 0, seen.dt / seen.gap_s, 0.0)
    clock = np.concatenate([[0.0], np.cumsum(ticks)])
    left = [int(n) for n in seen.first]
    answers: list[list[_Answer]] = [[] for _ in left]
    for place, lengths in enumerate(seen.ended):
        now = float(clock[place] + clock[place + 1]) / 2
        for length in sorted(lengths, reverse=True):  # the longest have the fewest births that they can be of
            born = bisect_right(clock, now - length) - 1
            if born >= 0 and (free := _nearest(left, born, place)) is not None:
                left[free] -= 1
                answers[free].append(_Answer(length, True))
    ages = clock[-1] - (clock[:-1] + clock[1:]) / 2
    go_on = seen.running
    for place in reversed(range(len(left))):
        # More than go on have no end that was found: of the oldest the end went to a neighbour, and nothing is known.
        still = min(left[place], go_on)
        go_on -= still
        answers[place] += [_Answer(max(float(ages[place]), 1.0), False)] * still
        answers[place] += [_Answer(0.0, False)] * (left[place] - still)
    return answers


def _without_strays(group: list[list[_Answer]]) -> list[list[_Answer]]:
    """Of a few that seem to go on for longer than any that ended, nothing is known: their ends were taken for others'."""
    own = [one for births in group for one in births]
    longest = max((one.tokens for one in own if one.over), default=math.inf)
    strays = sum(not one.over and one.tokens > longest for one in own)
    if not 0 < strays <= _STRAY * len(own):
        return group
    return [[one if one.over or one.tokens <= longest else _Answer(0.0, False) for one in births] for births in group]


def _nearest(left: list[int], born: int, last: int) -> int | None:
    """The interval at or next to ``born``, no later than ``last``, that has a birth to spare."""
    reach = max(born, last - born)
    for away in range(reach + 1):
        for place in (born - away, born + away):
            if 0 <= place <= last and left[place] > 0:
                return place
    return None


def _groups(answers: list[list[_Answer]]) -> list[list[list[_Answer]]]:
    """Intervals in a row, with so many births each group; the rest goes to the last."""
    groups: list[list[list[_Answer]]] = [[]]
    births = 0
    for own in answers:
        if births >= _GROUP:
            groups.append([])
            births = 0
        groups[-1].append(own)
        births += len(own)
    if len(groups) > 1 and births < _GROUP:
        rest = groups.pop()
        groups[-1] += rest
    return groups


class _Survival:
    """How long answers are that are at least so long already."""

    def __init__(self, answers: list[_Answer]) -> None:
        ordered = sorted(answers, key=lambda one: (one.tokens, not one.over))
        self.at: list[float] = []
        self.mass: list[float] = []
        alive, share = len(ordered), 1.0
        for one in ordered:
            if one.over:
                self.at.append(one.tokens)
                self.mass.append(share / alive)
                share -= share / alive
            alive -= 1
        self.beyond = max(share, 0.0)
        # Past the longest that ended nothing is seen: they go on for about as long as lengths differ, of alike ones hardly.
        told = self.at if 2 * len(self.at) > len(answers) else [one.tokens for one in answers]
        self.residual = float(np.std(told)) if told else 1.0

    def whole(self, one: _Answer, rng: random.Random) -> int:
        """The length of ``one``, to its end."""
        if one.over:
            return max(round(one.tokens), 1)
        place = bisect_right(self.at, one.tokens)
        later = sum(self.mass[place:])
        if not later or rng.random() * (later + self.beyond) >= later:
            start = max(one.tokens, self.at[-1] if self.at else 0.0)
            return max(round(start + rng.expovariate(1 / max(self.residual, 1.0))), 1)
        return max(round(rng.choices(self.at[place:], weights=self.mass[place:])[0]), 1)
