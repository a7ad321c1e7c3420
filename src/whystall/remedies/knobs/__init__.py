"""The knobs: one file a flag. Adding one is adding a file with a ``KNOB``; nothing else changes."""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache

from whystall.remedies.knob import Knob


@cache
def knobs() -> dict[str, Knob]:
    """Every knob by id."""
    modules = (importlib.import_module(f"{__name__}.{m.name}") for m in pkgutil.iter_modules(__path__))
    return {module.KNOB.id: module.KNOB for module in modules}


@cache
def by_flag() -> dict[str, Knob]:
    """Every spelling, in any version, with its knob."""
    return {flag: knob for knob in knobs().values() for flag in knob.flags()}


def knob_of(word: str) -> Knob | None:
    """The knob that a flag or an id names, dashes and underscores alike; None where there is none."""
    plain = word.strip()
    return by_flag().get(plain) or by_flag().get(plain.replace("_", "-")) or knobs().get(_id(plain))


def _id(word: str) -> str:
    return word.lstrip("-").replace("-", "_").replace(".", "_")
