"""What treats a cause: one file each, named as the cause. Adding one is adding a file with ``candidates``."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterator
from functools import cache

from whystall.remedies.candidate import Candidate
from whystall.remedies.situation import Situation

Treat = Callable[[Situation], Iterator[Candidate]]


@cache
def treatments() -> dict[str, Treat]:
    """The candidates of each cause that has some, the best first, by the cause's id."""
    modules = {m.name: importlib.import_module(f"{__name__}.{m.name}") for m in pkgutil.iter_modules(__path__)}
    return {name: module.candidates for name, module in modules.items()}
