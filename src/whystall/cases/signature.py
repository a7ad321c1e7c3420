"""What a case looks like as numbers, and how much two cases look alike."""

from __future__ import annotations

import math
from collections.abc import Iterable

import msgspec

from whystall.model.case import Signature
from whystall.model.diagnosis import Diagnosis
from whystall.model.text import Text

FELT = 0.25  # of 1.5: strengths below it speak for nothing, and are no reason to call two cases alike
NAMED = 4  # pieces of evidence named in a reason
_SAME = Text(
    "the same {causes}; {alike} of {seen} signals speak alike ({names})",
    "同为 {causes}；{seen} 个信号中有 {alike} 个一致（{names}）",
)
_UNLIKE = Text("{same}; unlike in {names}", "{same}；不同之处：{names}")


class Similarity(msgspec.Struct, frozen=True):
    """How much two cases look alike, from 0 to 1, and what makes it so, the strongest first."""

    score: float
    causes: tuple[str, ...]  # that both have
    alike: tuple[str, ...]  # evidence that speaks the same way in both
    unlike: tuple[str, ...]  # evidence that speaks the other way, or in one only


def signature_of(diagnosis: Diagnosis) -> Signature:
    """The causes with their probabilities, and every piece of evidence with its strength, clipped to +-1.5.

    Evidence that was seen and speaks neither way stays in it, with 0: what is not in it was not seen.
    """
    causes = {cause.id: cause.probability for cause in diagnosis.causes if math.isfinite(cause.probability)}
    strengths = {e.id: min(1.5, max(-1.5, e.strength)) for e in diagnosis.evidence if math.isfinite(e.strength)}
    return Signature(causes, strengths)


def similarity(a: Signature, b: Signature) -> Similarity:
    """sqrt(C * E). C: the weighted Jaccard index of the causes, sum of min over sum of max of their probabilities.

    E: the cosine of the strengths over what was seen in both, times the share of either's weight (squared strengths) that
    the other saw too. So a signal that one lacks counts against a pair only as far as it spoke. Without a common cause the
    score is 0, however alike the symptoms: those are look-alikes, and what helped the one does not help the other.
    """
    shared = a.strengths.keys() & b.strengths.keys()
    alike, unlike = _sorted_by_weight(a, b, shared)
    score = math.sqrt(_jaccard(a.causes, b.causes) * _cosine(a, b, shared) * _coverage(a, b, shared))
    common = sorted(a.causes.keys() & b.causes.keys(), key=lambda id: -min(a.causes[id], b.causes[id]))
    return Similarity(score, tuple(common), tuple(alike), tuple(unlike))


def reason(found: Similarity) -> Text:
    """Why two cases are called alike, in words."""
    same = _SAME.format(
        causes=", ".join(found.causes),
        alike=len(found.alike),
        seen=len(found.alike) + len(found.unlike),
        names=", ".join(found.alike[:NAMED]),
    )
    return _UNLIKE.format(same=same, names=", ".join(found.unlike[:NAMED])) if found.unlike else same


def _jaccard(a: dict[str, float], b: dict[str, float]) -> float:
    ids = a.keys() | b.keys()
    least = sum(min(a.get(id, 0.0), b.get(id, 0.0)) for id in ids)
    most = sum(max(a.get(id, 0.0), b.get(id, 0.0)) for id in ids)
    return least / most if most > 0 else 0.0


def _weight(strengths: dict[str, float], ids: Iterable[str]) -> float:
    return math.fsum(strengths[id] ** 2 for id in ids)


def _cosine(a: Signature, b: Signature, shared: Iterable[str]) -> float:
    size = math.sqrt(_weight(a.strengths, shared) * _weight(b.strengths, shared))
    if not size > 0:
        return 0.0
    return min(1.0, max(0.0, math.fsum(a.strengths[id] * b.strengths[id] for id in sorted(shared)) / size))


def _coverage(a: Signature, b: Signature, shared: Iterable[str]) -> float:
    whole = [(_weight(one.strengths, shared), _weight(one.strengths, one.strengths)) for one in (a, b)]
    return min((seen / every for seen, every in whole if every > 0), default=0.0)


def _sorted_by_weight(a: Signature, b: Signature, shared: Iterable[str]) -> tuple[list[str], list[str]]:
    felt = [id for id in shared if max(abs(a.strengths[id]), abs(b.strengths[id])) >= FELT]
    ordered = sorted(felt, key=lambda id: (-abs(a.strengths[id]) - abs(b.strengths[id]), id))
    same = {id for id in ordered if min(a.strengths[id] * b.strengths[id], 1.0) > 0 and _as_strong(a, b, id)}
    return [id for id in ordered if id in same], [id for id in ordered if id not in same]


def _as_strong(a: Signature, b: Signature, id: str) -> bool:
    return min(abs(a.strengths[id]), abs(b.strengths[id])) >= FELT
