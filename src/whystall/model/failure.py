"""What a command says instead of an answer."""

from __future__ import annotations

from typing import Literal

import msgspec


class Failure(msgspec.Struct, frozen=True):
    """An error as ``--json`` prints it: what happened, what to do next, and the exit code that goes with it."""

    error: str
    hint: str
    exit_code: int
    schema: Literal["whystall.error/1"] = "whystall.error/1"
