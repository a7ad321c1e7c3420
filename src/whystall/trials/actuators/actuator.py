"""The protocol of everything that changes a server: look, say exactly what would be done, do it, see it up, undo it."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Protocol

import msgspec


class Snapshot(msgspec.Struct, frozen=True):
    """How a server is started now. ``saved`` is what the actuator needs to restore exactly this (JSON)."""

    arguments: tuple[str, ...]
    saved: str = ""

    @property
    def digest(self) -> str:
        """SHA-256 of the configuration; equal ones have equal digests."""
        body = msgspec.json.encode([self.arguments, self.saved])
        return hashlib.sha256(body).hexdigest()


class Plan(msgspec.Struct, frozen=True):
    """What would be done. ``text`` is the exact command, patch or file; ``after`` the server's arguments after it."""

    before: Snapshot
    after: tuple[str, ...]
    text: str
    undo: str
    flags: dict[str, str] = {}


class Readiness(msgspec.Struct, frozen=True):
    """Whether the server serves as it should, and why not; ``oom``: it ran out of memory."""

    ok: bool
    reason: str = ""
    oom: bool = False


class Actuator(Protocol):
    """Changes one server.

    ``kind`` is the actuator's name in ``whystall.toml``, ``target`` the name of what it acts on, the same for everybody
    who acts on it. ``live`` is False where it only writes down what somebody else has to make happen. ``apply`` and
    ``roll_back`` return when the change is on its way; ``healthy`` waits until the server serves or will not.
    Each raises :class:`~whystall.errors.ChangeFailed` where the change cannot be made, and does nothing where what it
    should bring about is so already: an interrupted step may be taken again.
    """

    kind: str
    target: str
    live: bool

    async def snapshot(self) -> Snapshot:
        """The configuration as it is now; changes nothing."""
        ...

    async def plan(self, before: Snapshot, flags: Mapping[str, str]) -> Plan:
        """What would be done; changes nothing. Raises UsageError where the change cannot be written."""
        ...

    async def apply(self, plan: Plan) -> None:
        """Make the change."""
        ...

    async def healthy(self) -> Readiness:
        """Wait until it serves, or say why it does not."""
        ...

    async def roll_back(self, before: Snapshot) -> None:
        """Restore ``before``."""
        ...
