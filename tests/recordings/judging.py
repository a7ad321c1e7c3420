"""Is an answer right: the only place that reads the answer sheet."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

from whystall.model.diagnosis import Diagnosis

IDLE = {"low_demand", "client_limited"}


@cache
def truth(folder: Path) -> dict[str, dict[str, Any]]:
    return json.loads((folder / "recordings" / "truth.json").read_text())


def right(diagnosis: Diagnosis, want: dict[str, Any], *, also: bool = False, unknown: bool = False) -> bool:
    """Whether the verdict and the first cause are an accepted answer.

    ``also`` accepts what is true without being the best first answer, ``unknown`` accepts abstention.
    """
    if unknown and diagnosis.verdict == "unknown":
        return True
    verdicts = want["verdict"] if isinstance(want["verdict"], list) else [want["verdict"]]
    named = [cause.id for cause in diagnosis.causes]
    if diagnosis.verdict == "bottleneck" and "healthy" in verdicts and named and named[0] in want.get("either", ()):
        return True
    if diagnosis.verdict not in verdicts:
        return False
    if diagnosis.verdict == "healthy":
        return set(named) <= IDLE
    if diagnosis.verdict == "unknown":
        return True
    accepted = [*want["causes"], *(want.get("also", ()) if also else ()), *want.get("either", ())]
    return bool(named) and named[0] in accepted


def onset_right(diagnosis: Diagnosis, want: dict[str, Any]) -> bool:
    if diagnosis.verdict != "bottleneck" or want["onset_s"] is None:
        return True
    onset = diagnosis.causes[0].onset
    return onset is not None and abs(onset.seconds - want["onset_s"]) <= want.get("onset_tolerance_s", 5)


def said(diagnosis: Diagnosis) -> str:
    """For the message of a failing assertion."""
    causes = [(c.id, c.probability, c.onset.seconds if c.onset else None) for c in diagnosis.causes]
    return f"{diagnosis.verdict} {causes}: {diagnosis.headline.en}"
