"""A plan as the journal keeps it, and as people may see it."""

from __future__ import annotations

import time
import uuid

import msgspec

from whystall.model.change import Change
from whystall.model.diagnosis import Remedy
from whystall.sources.live.scrubber import mask_secrets
from whystall.trials.actuators.actuator import Actuator, Plan


def change_of(actuator: Actuator, plan: Plan, remedy: Remedy, case: int) -> Change:
    """The plan as the journal keeps it; ``saved`` is the snapshot, with which it is undone."""
    return Change(
        id=uuid.uuid4().hex,
        target=actuator.target,
        actuator=actuator.kind,
        flags=dict(remedy.change),
        before=plan.before.arguments,
        after=plan.after,
        text=plan.text,
        undo=plan.undo,
        snapshot=plan.before.digest,
        saved=msgspec.json.encode(plan.before).decode(),
        at=time.time(),
        remedy=remedy.id,
        case=case,
    )


def shown(change: Change) -> Change:
    """Without what only restores it, and without secrets."""
    return msgspec.structs.replace(
        change, saved="", before=mask_secrets(change.before), after=mask_secrets(change.after)
    )
