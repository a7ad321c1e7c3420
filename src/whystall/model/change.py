"""A change to a server that is kept on the way: what stood there, what shall, how it is made and how it is undone.

Field names are the published JSON contract.
"""

from __future__ import annotations

from typing import Literal

import msgspec

ChangeState = Literal["planned", "applying", "applied", "verifying", "kept", "rolling_back", "rolled_back", "failed"]
ENDED: frozenset[ChangeState] = frozenset(("kept", "rolled_back", "failed"))


class Change(msgspec.Struct, frozen=True):
    """One change of one target by one actuator. ``id`` is the same in every state that it goes through.

    ``target`` is what the actuator acts on (``process:NAME``, ``k8s://NAMESPACE/NAME``), ``actuator`` its id.
    ``flags`` are those of :class:`~whystall.model.diagnosis.Remedy`. ``before`` and ``after`` are the server's arguments;
    ``snapshot`` is the SHA-256 of the configuration that was there before, ``saved`` that configuration as the actuator
    restores it. ``text`` is the exact command, patch or file, ``undo`` what takes it back. ``at`` is unix seconds of this
    state; ``reason`` says why it ended as it did. ``case`` is the number of the case it belongs to, 0 where there is none.
    """

    id: str
    target: str
    actuator: str
    flags: dict[str, str]
    before: tuple[str, ...]
    after: tuple[str, ...]
    text: str
    undo: str
    snapshot: str
    saved: str = ""
    at: float = 0.0
    state: ChangeState = "planned"
    remedy: str = ""
    reason: str = ""
    case: int = 0

    @property
    def in_words(self) -> str:
        """The flags as one says them: ``--max-num-seqs 64, without --enforce-eager``."""
        return ", ".join(f"{flag} {value}" if value else f"without {flag}" for flag, value in self.flags.items())

    @property
    def ended(self) -> bool:
        """Whether nothing is left to be done about it."""
        return self.state in ENDED
