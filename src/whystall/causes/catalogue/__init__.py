"""The causes: one file each. Adding one is adding a file with a ``CAUSE``; nothing else changes.

Other packages add theirs by an entry point, through the same door (:mod:`whystall.causes.plugins`).
"""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache

from whystall.causes.entry import CauseEntry
from whystall.causes.plugins import Admitted, Refusal, admit, installed


@cache
def _admitted() -> Admitted:
    own = (importlib.import_module(f"{__name__}.{m.name}") for m in pkgutil.iter_modules(__path__))
    return admit(own, installed())


def catalogue() -> dict[str, CauseEntry]:
    """Every cause by id."""
    return _admitted().causes


def refused() -> tuple[Refusal, ...]:
    """The plugins that were not let in."""
    return _admitted().refused
