"""What a report is made of: the answer, and the picture of the window it was found in."""

from __future__ import annotations

import msgspec

from whystall.model.diagnosis import Diagnosis
from whystall.model.timeline import Timeline


class Finding(msgspec.Struct, frozen=True):
    """One diagnosis and its timeline. ``engines`` holds a finding each where one page had several engines."""

    diagnosis: Diagnosis
    timeline: Timeline | None = None
    engines: tuple[Finding, ...] = ()
