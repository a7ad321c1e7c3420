"""What a cause file holds."""

from __future__ import annotations

import msgspec

from whystall.model.diagnosis import Role
from whystall.model.text import Text


class Need(msgspec.Struct, frozen=True):
    """A check on one piece of evidence: its strength is at least (or, with ``below``, at most) a level."""

    evidence: str
    at_least: float = 0.3
    below: bool = False

    def holds(self, strength: float) -> bool:
        return strength <= self.at_least if self.below else strength >= self.at_least


class Link(msgspec.Struct, frozen=True):
    """One why of the chain. ``claim`` may name evidence by ``{id}`` with underscores for dots: its text is put in.

    All ``needs`` must hold. Where the evidence of an ``optional`` link was not seen, or its check fails, the link is left
    out; where a link that is not optional fails, the cause is not named. One that holds ``if_seen`` is left out only where
    its evidence was not seen. ``rejects`` says which other explanation the
    number rules out.
    """

    claim: Text
    needs: tuple[Need, ...]
    rejects: Text | None = None
    optional: bool = False
    if_seen: bool = False


class LookAlike(msgspec.Struct, frozen=True):
    """Another cause that shows the same picture, and the number that tells them apart."""

    cause: str
    told_apart_by: Text


class CauseEntry(msgspec.Struct, frozen=True):
    """One cause of the catalogue.

    ``logit P(cause | evidence) = bias + sum(weights[id] x strength(id))`` over the evidence that was seen (method.md 2.3);
    the bias is the log odds when nothing speaks for it. ``order`` breaks ties between equally sure causes: the lower one
    stands first. ``limit`` names the server's limit that binds, ``explains_idle`` marks what a healthy server may carry.
    ``numbers`` are the headline's figure after the title: templates over evidence values (``{queue_delay:~2}``, dots as
    underscores) and ``{limit}``; the first one whose evidence was seen and speaks for the cause is taken.
    A change of the workload hurts through a limit that it loads: ``acts_through`` names those, and where one of them is
    found the trigger is no surer than the limit. What it makes without any of them, ``alone_as`` names.
    ``hurts_as`` names the kinds of loss that it can make (``evidence/symptoms.py``); it is weighed only where one is seen.
    ``other_links`` are further chains, tried in their order where ``links`` do not stand: another way to see the same.
    ``onset_from`` lists evidence whose own onset is the cause's, tried in order before the incident's.
    """

    id: str
    title: Text
    what: Text
    predicts: Text
    role: Role
    bias: float
    weights: dict[str, float]
    links: tuple[Link, ...]
    numbers: tuple[Text, ...]
    first_step: Text
    look_alikes: tuple[LookAlike, ...] = ()
    hurts_as: tuple[str, ...] = ()
    restart: bool = False  # whether the first step takes effect at the next start only
    limit: str | None = None
    order: int = 5
    explains_idle: bool = False
    onset_from: tuple[str, ...] = ()
    acts_through: tuple[str, ...] = ()
    alone_as: tuple[str, ...] = ()
    other_links: tuple[tuple[Link, ...], ...] = ()
    settled_by: tuple[str, ...] = ()  # signals that decide for or against it
