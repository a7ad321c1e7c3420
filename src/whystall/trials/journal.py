"""The write-ahead journal of changes: a line is on the disk before what it announces is done.

One file a target. After a crash its last line says how far the change had come, and so what may stand on the server.
"""

from __future__ import annotations

import hashlib
import time
from pathlib import Path

import msgspec

from whystall.errors import InputError
from whystall.model.change import Change, ChangeState

from .actuators.durable import append_line

_MAX_BYTES = 50_000_000


class Journal:
    """The changes of one target, in ``folder`` (the user's state folder)."""

    def __init__(self, folder: Path, target: str) -> None:
        self.target = target
        self.path = folder / "journal" / f"{key_of(target)}.jsonl"

    def write(self, change: Change, state: ChangeState, reason: str = "") -> Change:
        """Note that ``change`` is now in ``state``, and return it so; on return it is on the disk."""
        noted = msgspec.structs.replace(change, state=state, at=time.time(), reason=reason or change.reason)
        append_line(self.path, msgspec.json.encode(noted))
        return noted

    def changes(self) -> list[Change]:
        """The last state of every change, the oldest change first. Half a line, of a crash, is no line."""
        try:
            if self.path.stat().st_size > _MAX_BYTES:
                raise InputError(f"{self.path} is over {_MAX_BYTES:,} bytes", "Move it away once no change is open.")
            lines = self.path.read_bytes().splitlines()
        except FileNotFoundError:
            return []
        except OSError as error:
            raise InputError(f"{self.path} cannot be read: {error.strerror}", "Check its mode.") from error
        found: dict[str, Change] = {}
        for line in lines:
            try:
                change = msgspec.json.decode(line, type=Change)
            except msgspec.MsgspecError:
                continue
            found[change.id] = change
        return list(found.values())

    def open(self) -> Change | None:
        """The change that has begun and not ended; None where there is none."""
        begun = [change for change in self.changes() if not change.ended and change.state != "planned"]
        return begun[-1] if begun else None

    def kept(self, case: int = 0) -> Change | None:
        """The last change that was kept, or that of ``case``."""
        kept = [c for c in self.changes() if c.state == "kept" and case in (0, c.case)]
        return kept[-1] if kept else None


def journals(folder: Path) -> list[Journal]:
    """Every journal in ``folder``, for a look-up by case."""
    found = []
    for path in sorted((folder / "journal").glob("*.jsonl")):
        journal = Journal(folder, "")
        journal.path = path
        changes = journal.changes()
        if changes:
            found.append(Journal(folder, changes[-1].target))
    return found


def key_of(target: str) -> str:
    """A file's name for a target: what is readable of it, and what makes it its own."""
    plain = "".join(ch if ch.isalnum() else "-" for ch in target)[-40:].strip("-")
    return f"{plain}-{hashlib.sha256(target.encode()).hexdigest()[:12]}"
