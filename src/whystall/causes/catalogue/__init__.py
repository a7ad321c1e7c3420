"""The causes: one file each. Adding one is adding a file with a ``CAUSE``; nothing else changes."""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache

from whystall.causes.entry import CauseEntry


@cache
def catalogue() -> dict[str, CauseEntry]:
    """Every cause by id."""
    modules = (importlib.import_module(f"{__name__}.{m.name}") for m in pkgutil.iter_modules(__path__))
    return {module.CAUSE.id: module.CAUSE for module in modules}
