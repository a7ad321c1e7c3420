"""Why your LLM server stalls, what to change, and proof that it worked."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from whystall.errors import WhystallError
    from whystall.loop.diagnoser import AutoPerformanceDiagnoser, Diagnoser, diagnose
    from whystall.loop.opening import LoopConfig
    from whystall.model.diagnosis import Diagnosis
    from whystall.model.fix import Fix
    from whystall.model.slo import Slo
    from whystall.model.trial import Trial

# Where each public name is; it is imported when it is first asked for, so that `whystall --help` loads none of them.
_PLACES = {
    "AutoPerformanceDiagnoser": "whystall.loop.diagnoser",
    "Diagnoser": "whystall.loop.diagnoser",
    "Diagnosis": "whystall.model.diagnosis",
    "Fix": "whystall.model.fix",
    "LoopConfig": "whystall.loop.opening",
    "Slo": "whystall.model.slo",
    "Trial": "whystall.model.trial",
    "WhystallError": "whystall.errors",
    "diagnose": "whystall.loop.diagnoser",
}
__all__ = [
    "AutoPerformanceDiagnoser",
    "Diagnoser",
    "Diagnosis",
    "Fix",
    "LoopConfig",
    "Slo",
    "Trial",
    "WhystallError",
    "diagnose",
]


def __getattr__(name: str) -> Any:
    """A public name, from the module that has it."""
    if name not in _PLACES:
        raise AttributeError(f"module 'whystall' has no attribute {name!r}")
    return getattr(importlib.import_module(_PLACES[name]), name)
