"""Rows of the corpus weighed with given causes: answers, and the figures over them."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from corpus_cases import ALIKE, IDLE, LOOK_ALIKES, SECONDS, UNREADY, UNSEEN
from corpus_record import agrees

from whystall.causes.catalogue import catalogue
from whystall.causes.entry import CauseEntry
from whystall.causes.weighing import Seen, Weighed, weigh
from whystall.causes.weights import WeightsTable, fitted
from whystall.model.diagnosis import Evidence
from whystall.model.text import Text

Row = dict[str, Any]
_TEXT = Text("", "")
_WORSE = {"bottleneck": 2, "unknown": 1, "healthy": 0}


class Answer(NamedTuple):
    """One arm of one row: the answer, and what is judged of it."""

    row: Row
    arm: str
    verdict: str
    named: tuple[str, ...]  # the answer's causes, or the candidates
    ranked: tuple[str, ...]  # all causes, the most probable first
    sure: float  # the probability of the first cause
    grounded: int  # whys that the emulator's record agrees with
    whys: int  # whys that it says something of

    @property
    def faults(self) -> tuple[str, ...]:
        return tuple(self.row["case"]["faults"])

    @property
    def right(self) -> bool:
        """The verdict stands and its first cause is accepted; or all that this arm's signals can say is said."""
        if self.verdict == self._wanted and self.named and self.rank() == 1:
            return True
        return self._all_that_can_be_said

    @property
    def among_three(self) -> bool:
        return self.rank() <= 3 or self._all_that_can_be_said

    @property
    def _wanted(self) -> str:
        return "healthy" if set(self.faults) <= IDLE else "bottleneck"

    @property
    def _all_that_can_be_said(self) -> bool:
        """A loss that the signals do not show is not made up; one of a class that they cannot part is left open."""
        if set(self.faults) <= set(UNSEEN.get(self.arm, ())):
            return self.verdict != "bottleneck"
        candidates = set(self.named)
        return self.verdict == "unknown" and bool(alike(self.row, self.arm)) and candidates <= self.wanted

    @property
    def wanted(self) -> set[str]:
        return {cause for causes in self.row["accepted"] for cause in causes} | alike(self.row, self.arm)

    def rank(self) -> int:
        """The place of the first accepted cause, from 1; a large number where none is held."""
        wanted = self.wanted
        return next((i for i, name in enumerate(self.ranked, 1) if name in wanted), 99)

    @property
    def both(self) -> bool:
        """Of each fault one accepted cause among the first three."""
        return all(set(causes) & set(self.ranked[:3]) for causes in self.row["accepted"])


def alike(row: Row, arm: str) -> set[str]:
    """The causes that this arm's signals cannot tell from the row's faults."""
    faults = set(row["case"]["faults"])
    tables = (*ALIKE, UNREADY) if row["facts"].get("unready") else ALIKE
    return {c for arms, causes in tables if arm in arms.split("|") and faults & set(causes) for c in causes}


def seen_of(scene: Row) -> Seen:
    evidence = {n: Evidence(n, s, "", s, _TEXT, "metrics") for n, s in scene["evidence"].items()}
    return Seen(evidence, scene["kinds"], scene["hurts"])


class Weights(NamedTuple):
    """What evidence is weighed with: the causes with their weights, and the temperature of the posterior."""

    entries: dict[str, CauseEntry]
    temperature: float = 1.0

    def without(self, causes: Sequence[str]) -> Weights:
        return Weights({n: e for n, e in self.entries.items() if n not in causes}, self.temperature)


def of_table(weights: WeightsTable) -> Weights:
    """The catalogue with the weights of a table."""
    return Weights({name: fitted(entry, weights) for name, entry in catalogue().items()}, weights.temperature)


def answered(row: Row, arm: str, weights: Weights) -> Answer:
    """The answer of the worst engine."""
    entries = weights.entries
    scenes = row["arms"][arm]
    found = [(scene, weigh(seen_of(scene), weights.entries, weights.temperature)) for scene in scenes]
    if not found:
        return Answer(row, arm, "unknown", (), (), 0.0, 0, 0)
    scene, weighed = max(found, key=lambda pair: _badness(*pair))
    if scene["unproven"]:
        return Answer(row, arm, "unknown", (), (), 0.0, 0, 0)
    order = sorted(weighed.probability, key=lambda n: (-round(weighed.probability[n], 2), entries[n].order, n))
    ranked = (*weighed.named, *(n for n in order if n not in weighed.named))
    sure = weighed.probability[ranked[0]] if ranked else 0.0
    return Answer(row, arm, weighed.verdict, weighed.named, ranked, sure, *_grounded(row, weighed, entries))


def _badness(scene: Row, weighed: Weighed) -> tuple[int, float, float]:
    verdict = "unknown" if scene["unproven"] else weighed.verdict
    sure = weighed.probability[weighed.named[0]] if weighed.named else 0.0
    return _WORSE[verdict], sure, scene["queue_s"]


def _grounded(row: Row, weighed: Weighed, entries: dict[str, CauseEntry]) -> tuple[int, int]:
    """How many printed whys the record speaks of, and agrees with. A single false statement makes a why false."""
    if weighed.verdict != "bottleneck":
        return 0, 0
    good = of = 0
    for name in weighed.named:
        below = {(n.evidence, n.below) for link in entries[name].links for n in link.needs}
        for why in weighed.held[name].whys:
            said = [agrees(e, (e, True) in below and (e, False) not in below, row["facts"]) for e in why.evidence]
            known = [one for one in said if one is not None]
            of += bool(known)
            good += bool(known) and all(known)
    return good, of


class Figures(NamedTuple):
    """Of some answers. NaN where there was nothing to count."""

    n: int
    at_1: float
    at_3: float
    avg_5: float
    ece: float
    brier: float
    answered: float
    right_answered: float
    selective_80: float
    grounded: float


def figures(answers: Sequence[Answer]) -> Figures:
    """Over single faults; an abstention is a miss of AC@1, as everywhere in the field."""
    named = [a for a in answers if a.verdict != "unknown" and a.named]
    whys, good = sum(a.whys for a in answers), sum(a.grounded for a in answers)
    surest = sorted(answers, key=lambda a: -a.sure)[: math.ceil(0.8 * len(answers))]
    return Figures(
        n=len(answers),
        at_1=_mean(a.right for a in answers),
        at_3=_mean(a.among_three for a in answers),
        avg_5=_mean(sum(a.rank() <= k for k in range(1, 6)) / 5 for a in answers),
        ece=ece([(a.sure, a.rank() == 1) for a in answers if a.ranked]),
        brier=_mean((a.sure - (a.rank() == 1)) ** 2 for a in answers if a.ranked),
        answered=len(named) / len(answers) if answers else math.nan,
        right_answered=_mean(a.right for a in named),
        selective_80=_mean(a.rank() == 1 for a in surest),
        grounded=good / whys if whys else math.nan,
    )


def ece(pairs: Sequence[tuple[float, bool]], bins: int = 10) -> float:
    """Expected calibration error: how far the probability of the first cause is from how often it is right."""
    if not pairs:
        return math.nan
    cells: dict[int, list[tuple[float, bool]]] = defaultdict(list)
    for sure, right in pairs:
        cells[min(int(sure * bins), bins - 1)].append((sure, right))
    gaps = [abs(sum(s for s, _ in c) - sum(r for _, r in c)) for c in cells.values()]
    return sum(gaps) / len(pairs)


def _mean(values: Iterable[float]) -> float:
    values = list(values)
    return sum(values) / len(values) if values else math.nan


def singles(kept: Sequence[Row], entries: dict[str, CauseEntry]) -> list[Row]:
    """Rows of one fault that the catalogue has a file of."""
    return [r for r in kept if len(r["case"]["faults"]) == 1 and r["case"]["faults"][0] in entries]


def measured(kept: Sequence[Row], weights: Weights, strangers: Weights, withheld: Sequence[str]) -> dict[str, Any]:
    """All figures over the kept rows, by arm, by cause, by look-alike pair; JSON-able.

    ``strangers`` are weights that never saw the ``withheld`` causes: without those causes, what is said of them?
    """
    entries = weights.entries
    known = singles(kept, entries)
    others = strangers.without(withheld)
    arms = {arm: [answered(row, arm, weights) for row in known] for arm in (known[0]["arms"] if known else ())}
    nameless = [r for r in kept if len(r["case"]["faults"]) == 1 and r["case"]["faults"][0] not in entries]
    pairs = [r for r in kept if len(r["case"]["faults"]) == 2 and set(r["case"]["faults"]) <= set(entries)]
    unknown = [r for r in kept if len(r["case"]["faults"]) == 1 and r["case"]["faults"][0] in withheld]
    return {
        "arms": {arm: _rounded(figures(answers)._asdict()) for arm, answers in arms.items()},
        "by_cause": {arm: _by_cause(arms.get(arm, ())) for arm in ("all", "metrics")},
        "look_alikes": {arm: _look_alikes(arms.get(arm, ())) for arm in ("all", "metrics")},
        "pairs": {arm: _pairs(pairs, arm, weights) for arm in ("all", "metrics")},
        "withheld_abstained": {arm: _abstained(unknown, arm, others) for arm in ("all", "metrics")},
        "without_a_file": {arm: _abstained(nameless, arm, weights) for arm in ("all", "metrics")},
        "healthy": {arm: _healthy(kept, arm, weights) for arm in ("all", "metrics", "15 s")},
    }


def _rounded(values: dict[str, Any]) -> dict[str, Any]:
    return {k: round(v, 4) if isinstance(v, float) and math.isfinite(v) else v for k, v in values.items()}


def _by_cause(answers: Sequence[Answer]) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for a in answers:
        row = found.setdefault(a.faults[0], [0, 0])
        row[0] += a.right
        row[1] += 1
    return dict(sorted(found.items(), key=lambda item: item[1][0] / item[1][1]))


def _look_alikes(answers: Sequence[Answer]) -> dict[str, list[int]]:
    return {
        pair: [sum(a.right for a in mine), len(mine)]
        for pair, faults in LOOK_ALIKES.items()
        if (mine := [a for a in answers if a.faults[0] in faults])
    }


def _pairs(pairs: Sequence[Row], arm: str, weights: Weights) -> list[int]:
    return [sum(answered(row, arm, weights).both for row in pairs), len(pairs)]


def _abstained(unknown: Sequence[Row], arm: str, weights: Weights) -> list[int]:
    return [sum(answered(row, arm, weights).verdict == "unknown" for row in unknown), len(unknown)]


def _healthy(kept: Sequence[Row], arm: str, weights: Weights) -> dict[str, float]:
    verdicts = Counter(answered(row, arm, weights).verdict for row in kept if not row["case"]["faults"])
    hours = sum(verdicts.values()) * SECONDS / 3600
    alarms = verdicts["bottleneck"]
    return {"hours": round(hours, 2), "alarms": alarms, "unknown": verdicts["unknown"]}


def misses(kept: Sequence[Row], weights: Weights, arm: str) -> Counter[str]:
    """What is said instead of the right answer, by fault."""
    found: Counter[str] = Counter()
    for row in singles(kept, weights.entries):
        a = answered(row, arm, weights)
        if not a.right:
            found[f"{a.faults[0]} -> {a.verdict} {' '.join(a.named[:2])}"] += 1
    return found
