"""Which case of a ticket is the incident, which the reference, and what they differ in."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from itertools import permutations

import msgspec

from whystall.model.recording import Contrast

from .features import FEATURES, two_versions
from .figure import Figure
from .statements import Case, Statements, Values

# Figures that compare two cases, the plainest first; True where more is better.
_FIGURES = {"ttft": False, "itl": False, "tpot": False, "e2e": False, "generation_tps": True, "total_tps": True}
_FIGURES |= {"rate": True, "duration": False, "hit_ratio": True}
_FELT_S = 0.2  # a first token within that is early whatever it is compared with (DESIGN.md, SLO)
_LEAST_MISS = 0.05  # a hit rate moves by as much from hour to hour
_AGREE = 1.2  # figures that differ by more, one each way, say that two cases are not two of the same
_STATISTICS = ("", ".mean", ".p50", ".p95", ".p99")
_CONTROLLED = ("in_flight", "batch", "prompt", "output", "offered_rate")
_BETWEEN = frozenset(["proxy", "gateway", "router", "ingress", "nginx", "via", "balancer", "lb", "client", "external"])
_DIRECT = frozenset(["direct", "server", "engine", "backend", "local", "internal"])
_NOT = frozenset(("without", "no", "non", "not", "off", "disabled", "none"))
_FILLERS = frozenset(("with", "on", "enabled", "case", "model", "v", "table", "series", "by", "total"))
_VERSION = re.compile(r"v?\d{1,3}(?:\.\d{1,3})+|v\d{1,4}|0\d{2,3}|driver|cuda|rocm|nightly|release")
# Words that say which of two states a figure is of, with their synonyms: figures of one state belong together.
_STATES = {"mixed": "together", "during": "together", "concurrent": "together", "together": "together"}
_STATES |= {"alone": "alone", "solo": "alone", "isolated": "alone"}
_GRAPHS = frozenset(("graph", "graphs", "cudagraph", "cudagraphs"))


class Compared(msgspec.Struct, frozen=True):
    """``incident`` and, where one is stated, ``reference``: the same load without the trouble.

    ``beside`` are the client's figures where the two cases are the same requests seen before and behind a hop.
    """

    incident: Values
    reference: Values | None = None
    beside: Values | None = None
    contrasts: tuple[Contrast, ...] = ()
    versions: tuple[str, ...] = ()  # of the incident, where its case is named for one
    words: frozenset[str] = frozenset()
    better: frozenset[str] = frozenset()  # words that only the better case has


def compared(stated: Statements, version: str = "") -> Compared:
    """The two cases that differ most in one figure and least in their names; else all figures as one case.

    ``version`` is the engine's as the ticket has it: where it says which ones are good and which bad, and nothing else
    tells the cases apart, they are what differs.
    """
    cases = [_with_load(stated, case) for case in stated.cases if _own(case)]
    pairs = [pair for good, bad in permutations(cases, 2) if (pair := _pair(good, bad)) is not None]
    if stated.rows or not pairs:
        return Compared(_only(stated, cases), words=frozenset(w for case in stated.cases for w in case.words))
    _, ratio, figure, good, bad = max(pairs, key=lambda pair: pair[:2])
    incident, reference = _whole(stated, bad), _whole(stated, good)
    words = frozenset(bad.words)
    if words & _BETWEEN and not set(good.words) & _BETWEEN:
        return Compared(reference, beside=incident, words=words)
    alike = not any(_differ(good.values, bad.values, name) for name in _CONTROLLED)
    told = _told(good, bad, figure) or ({"version"} if two_versions(version) else {""})
    named = sorted(told)  # "": the same load, and nothing says what is different
    contrasts = tuple(Contrast(name, figure, ratio) for name in named) if alike else ()
    versions = tuple(word for word in bad.words if word not in good.words and _VERSION.fullmatch(word))
    better = frozenset(word for word in good.words if word not in words and len(word) > 2)
    return Compared(incident, reference, None, contrasts, versions, words, better)


_Pair = tuple[float, float, str, Case, Case]


def _pair(good: Case, bad: Case) -> _Pair | None:
    """How much worse ``bad`` is, in the figure that shows it most; None where none does, or figures contradict."""
    found = [(_worse(slot, good.values, bad.values), slot) for slot in _common_slots(good, bad)]
    seen = [(ratio, slot) for ratio, slot in found if ratio > 0]
    if not seen or max(seen)[0] <= 1 or min(seen)[0] < 1 / _AGREE:
        return None
    ratio, slot = max(seen)
    unlike = len(set(good.words) ^ set(bad.words))
    other_load = any(_differ(good.values, bad.values, name) for name in _CONTROLLED)
    return math.log(ratio) - 0.1 * max(unlike - 2, 0) - 2 * other_load, ratio, slot, good, bad


def _common_slots(good: Case, bad: Case) -> Iterator[str]:
    for name in _FIGURES:
        yield from (name + s for s in _STATISTICS if name + s in good.values and name + s in bad.values)


def _worse(slot: str, good: Values, bad: Values) -> float:
    """By how much the bad case's figure is worse; speeds are taken for each request in flight."""
    a, b = good[slot].middle, bad[slot].middle
    name = slot.partition(".")[0]
    if name == "ttft" and max(a, b) < _FELT_S:
        return 0.0
    if name == "hit_ratio":  # what is computed is what was not hit
        return (1 - b) / max(1 - a, _LEAST_MISS) if 0 <= max(a, b) <= 1 and a - b >= _LEAST_MISS else 1.0
    if _FIGURES[name]:
        crowds = [_crowd(good), _crowd(bad)]
        if None in crowds and crowds != [None, None]:
            return 0.0
        a, b = (b / (crowds[1] or 1.0), a / (crowds[0] or 1.0))
    return b / a if a > 0 and b > 0 else 0.0


def _crowd(values: Values) -> float | None:
    return next(
        (values[name].middle for name in ("in_flight", "batch") if name in values and values[name].middle > 0), None
    )


def _own(case: Case) -> bool:
    return any(slot.partition(".")[0] in _FIGURES for slot in case.values)


def _whole(stated: Statements, case: Case) -> Values:
    """The figures of a case with those of the cases that it is part of or that are part of it, and the common ones."""
    words = set(case.words)
    values = dict(stated.common)
    for other in sorted(stated.cases, key=lambda c: len(c.words)):
        if set(other.words) <= words:
            values |= other.values
    for other in stated.cases:
        if words < set(other.words) or "together" in _state(other.words) & _state(case.words):
            values = {**other.values, **values}
    if "together" in _state(case.words) and "running" not in values:
        values.setdefault("in_flight", Figure(2.0, 2.0))
    return values


def _state(words: tuple[str, ...]) -> set[str]:
    return {_STATES[word] for word in words if word in _STATES}


def _with_load(stated: Statements, case: Case) -> Case:
    """The case with the load that the cases which it is part of have."""
    wider = [other.values for other in stated.cases if set(other.words) < set(case.words)]
    load = {name: values[name] for values in wider for name in _CONTROLLED if name in values}
    return Case(case.words, load | case.values)


_HEALTHY = frozenset(("baseline", "reference", "normal", "healthy", "good", "expected", "ideal"))


def _only(stated: Statements, cases: list[Case]) -> Values:
    """All figures of a ticket that compares nothing: the case with the most of them first. Rows speak for themselves."""
    if stated.rows:
        return dict(stated.common)
    values = dict(stated.common)
    # What is stated of a healthy server only says nothing of the incident.
    told = [case for case in stated.cases if not _HEALTHY & set(case.words)]
    for case in sorted(told, key=lambda c: (c not in cases, -len(c.values))):
        values = {**case.values, **values}
    return values


def _told(good: Case, bad: Case, figure: str) -> set[str]:
    """What the two differ in: by their names, by the limit that each was given, or by the cache hits that they got."""
    found = _features(good, bad)
    limits = {"seats": "seats", "budget": "budget"}
    limits |= {
        "output_spread": "prompts"
    }  # who leaves at other times is replaced one at a time, each by a prefill step
    found |= {feature for name, feature in limits.items() if not found and _differ(good.values, bad.values, name)}
    lost = _worse("hit_ratio", good.values, bad.values) if "hit_ratio" in {*good.values} & {*bad.values} else 1.0
    return found or ({"prefix_cache"} if lost > 1 + _LEAST_MISS or figure == "hit_ratio" else set())


def _features(good: Case, bad: Case) -> set[str]:
    """What the worse case has, or has otherwise, than the better one."""
    has, lacks = _split(good.words)
    own, missing = _split(bad.words)
    found = {name for name, words in FEATURES.items() if words & (own - has) or (words & own and words & lacks)}
    if (_GRAPHS & missing) or (_GRAPHS & has and not _GRAPHS & own and "eager" not in has):
        found.add("eager")
    if any(_VERSION.fullmatch(word) for word in (own ^ has)) and "version" not in found:
        found.add("version")
    return found


def _split(words: tuple[str, ...]) -> tuple[set[str], set[str]]:
    """The words that a name has and those that it denies: ``without lora``, ``graph none``."""
    has, lacks = set[str](), set[str]()
    for at, word in enumerate(words):
        if word in _NOT or word in _FILLERS:
            continue
        denied = (at > 0 and words[at - 1] in _NOT) or (at + 1 < len(words) and words[at + 1] == "none")
        (lacks if denied else has).add(word)
    return has, lacks


def _differ(good: Values, bad: Values, name: str) -> bool:
    return name in good and name in bad and good[name].middle != bad[name].middle
