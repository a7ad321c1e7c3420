"""What ``whystall doctor`` found: what is installed, what a server answers, what of it can be read from here."""

from __future__ import annotations

from typing import Literal

import msgspec

from .text import Text

State = Literal["ok", "missing", "failed"]


class Check(msgspec.Struct, frozen=True):
    """One thing looked at: ``missing`` is not there, ``failed`` does not work; ``how`` says what to do about it."""

    id: str
    state: State
    text: Text
    how: Text = msgspec.field(default_factory=lambda: Text(""))


class Checkup(msgspec.Struct, frozen=True):
    """All checks. Without a ``target`` only what is installed and what of this host can be read."""

    version: str
    installed: tuple[Check, ...]
    readable: tuple[Check, ...]
    target: str | None = None
    reachable: tuple[Check, ...] = ()
    signals: tuple[Check, ...] = ()
    engine_version: str = ""
    unknown_names: tuple[str, ...] = ()
    schema: Literal["whystall.doctor/1"] = "whystall.doctor/1"
