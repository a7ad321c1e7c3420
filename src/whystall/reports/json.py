"""The machine's view: the published contract, one object."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import numpy as np

from whystall.errors import WhystallError
from whystall.model.failure import Failure
from whystall.model.text import encode_hook

from .finding import Finding


class JsonRenderer:
    """A diagnosis as the object of schema ``whystall.diagnosis/1``, in UTF-8 text of two-space indent."""

    def render(self, finding: Finding, lang: str) -> str:
        return to_json(finding.diagnosis, lang)


def to_json(noun: msgspec.Struct, lang: str) -> str:
    """Any published noun as JSON: its schema's name first, texts in ``lang``, null for a number that is not one."""
    body: dict[str, Any] = msgspec.to_builtins(noun, enc_hook=_hook(lang))
    ordered = {"schema": body["schema"]} | body if "schema" in body else body
    return msgspec.json.format(msgspec.json.encode(ordered), indent=2).decode()


def _hook(lang: str) -> Callable[[object], object]:
    texts = encode_hook(lang)
    # What comes from an array is numpy's kind of float, integer or truth, which the encoder does not take for one.
    return lambda value: value.item() if isinstance(value, np.generic) else texts(value)


def error_json(error: WhystallError) -> str:
    """What ``--json`` prints where there is no answer: schema ``whystall.error/1``."""
    return to_json(Failure(error.message, error.hint, error.exit_code), "en")
