"""What was seen, weighed: which causes may stand, how probable each is, and whether that is an answer.

Apart from :mod:`judge` because it needs the evidence alone: the benchmark weighs stored evidence again after a change.
"""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from whystall.model.diagnosis import Evidence, Verdict

from .chain import Chain, chain
from .entry import CauseEntry
from .posterior import Posterior, posterior

# Below this the answer is "unknown" (method.md 2.5).
ANSWER = 0.6
# And so it is where another answer is nearly as probable.
MARGIN = 0.2
# A second cause is shown from here on; below it is noise of the weights.
SHOWN = 0.5
# A trigger that is named without its limit must be surer: half of the story is missing.
ALONE = 0.97
# Candidates of an "unknown".
CANDIDATE = 0.15
# A kind of loss that fills less of the incident is a side effect; a total stop hurts all at once and is short.
KIND_SHARE = 0.1
STALL_SHARE = 0.05
OF_THE_SERVER = frozenset({"queue", "itl", "front", "stall", "host_gap", "throttle"})


class Seen(NamedTuple):
    """All that is weighed: the evidence, and each kind of loss with its share of the incident (none where nothing hurts)."""

    evidence: dict[str, Evidence]
    kinds: dict[str, float]
    hurts: bool


class Weighed(NamedTuple):
    """``named`` are the causes of the answer, or the candidates of an "unknown", the most probable first."""

    verdict: Verdict
    named: tuple[str, ...]
    probability: dict[str, float]  # of every cause whose chain holds, rounded to hundredths where it is a candidate
    held: dict[str, Chain]


def weigh(seen: Seen, entries: dict[str, CauseEntry], temperature: float = 1.0) -> Weighed:
    """The causes that the evidence leaves, their probabilities, and the verdict that they give."""
    entries = _alone(seen, _compared(seen, entries))
    held = standing(seen, entries)
    found = posterior((entries[name] for name in held), seen.evidence, seen.kinds, temperature)
    probability = _through_limits(found, entries)
    # Rounded, so that equally sure causes stand in catalogue order.
    rounded = {name: round(p, 2) for name, p in probability.items() if p >= CANDIDATE}
    order = tuple(sorted(rounded, key=lambda n: (-rounded[n], entries[n].order, n)))
    verdict, named = _verdict(seen, order, rounded, held)
    if verdict == "bottleneck" and not _stands_out(found, named[0]):
        verdict, named = "unknown", order[:2]
    return Weighed(verdict, named, {**probability, **rounded}, held)


def _compared(seen: Seen, entries: dict[str, CauseEntry]) -> dict[str, CauseEntry]:
    """A comparison is a loss of what was compared: other causes make none of that kind."""
    if not seen.kinds.get("contrast"):
        return entries
    result = dict(entries)
    for name, entry in entries.items():
        if not any(weight.startswith("contrast.") and weight in seen.evidence for weight in entry.weights):
            others = tuple(kind for kind in entry.hurts_as if kind != "contrast")
            result[name] = msgspec.structs.replace(entry, hurts_as=others)
    return result


def _alone(seen: Seen, entries: dict[str, CauseEntry]) -> dict[str, CauseEntry]:
    """Where all that was lost is what a change of the workload makes by itself, no limit has to be there for it."""
    # What is lost on the way to the client is no limit's of the server.
    lost = {kind for kind, share in seen.kinds.items() if share >= KIND_SHARE and kind != "client"}
    freed = {name: e for name, e in entries.items() if e.acts_through and lost and lost <= set(e.alone_as)}
    return entries | {
        name: msgspec.structs.replace(e, acts_through=(), hurts_as=(*e.hurts_as, *e.alone_as))
        for name, e in freed.items()
    }


def standing(seen: Seen, entries: dict[str, CauseEntry]) -> dict[str, Chain]:
    """The causes that make a loss that was seen and whose chain of whys holds."""
    chains = {name: chain(entry, seen.evidence) for name, entry in entries.items() if _may_stand(entry, seen)}
    return {name: found for name, found in chains.items() if found is not None}


def _may_stand(entry: CauseEntry, seen: Seen) -> bool:
    """What explains an idle server does not explain a loss; and a cause makes its own kinds of loss only."""
    if not seen.hurts:
        return entry.explains_idle
    # Late first tokens and long requests come of any loss that the server makes, also of one too small to be its own kind.
    late = max(seen.kinds.get("ttft", 0.0), seen.kinds.get("e2e", 0.0)) >= KIND_SHARE
    return (late and not OF_THE_SERVER.isdisjoint(entry.hurts_as)) or any(
        seen.kinds.get(kind, 0.0) >= (STALL_SHARE if kind == "stall" else KIND_SHARE) for kind in entry.hurts_as
    )


def _through_limits(found: Posterior, entries: dict[str, CauseEntry]) -> dict[str, float]:
    """A trigger is no surer than the limit through which it hurts, so that the limit stands first.

    Where it is open which of its limits binds, it is as sure as that one of them does; without any it is only a hint.
    """
    result = dict(found.marginal)
    for name, probability in found.marginal.items():
        limits = set(entries[name].acts_through)
        if limits:
            through = max(found.marginal.get(limit, 0.0) for limit in limits)
            if through < ANSWER:
                open_which = sum(p for causes, p in found.sets if name in causes and causes & limits)
                through = open_which if open_which >= ALONE else through
            result[name] = min(probability, max(through, SHOWN))
    return result


def _stands_out(found: Posterior, cause: str) -> bool:
    """Whether no other answer comes within the margin of the sets that name ``cause`` (method.md 2.5)."""
    return found.marginal[cause] - found.rival(cause)[1] >= MARGIN


def _verdict(
    seen: Seen, order: tuple[str, ...], probability: dict[str, float], held: dict[str, Chain]
) -> tuple[Verdict, tuple[str, ...]]:
    shown = tuple(name for name in order if probability[name] >= SHOWN)
    if not seen.hurts:
        return "healthy", shown
    named = tuple(name for name in shown if held[name].complete)
    if named and probability[named[0]] >= ANSWER:
        return "bottleneck", named
    return "unknown", order[:2]
