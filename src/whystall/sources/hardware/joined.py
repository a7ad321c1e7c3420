"""Columns that came in pieces, one after the other, as one."""

from __future__ import annotations

from typing import Any, TypeVar

import msgspec
import numpy as np
from numpy.typing import NDArray

from whystall.model.recording import GpuColumns, HostColumns

C = TypeVar("C", GpuColumns, HostColumns)
Chosen = NDArray[np.bool_]


def joined(known: C | None, new: C | None, keep_s: float) -> C | None:
    """``known`` and behind it the rows of ``new`` that are younger than all of it; no row older than ``keep_s`` before the
    last. A column that one of the two lacks is not seen there. Processes, which no exporter tells, are left out."""
    if known is None or new is None or not len(known.t) or not len(new.t):
        return new if new is not None and len(new.t) else known
    later: Chosen = new.t > known.t.max()
    recent: Chosen = known.t >= new.t.max() - keep_s
    parts: dict[str, Any] = {
        name: _column(getattr(known, name), getattr(new, name), recent, later) for name in known.__struct_fields__
    }
    changed = {name: value for name, value in parts.items() if value is not None and name != "processes"}
    if isinstance(new, HostColumns):
        changed["processes"] = ()
    return msgspec.structs.replace(new, **changed)


def _column(a: Any, b: Any, recent: Chosen, later: Chosen) -> Any:
    """The two parts of one column; None for a field that is none."""
    if isinstance(a, tuple) or isinstance(b, tuple):
        return (*_picked(a, recent), *_picked(b, later))
    if not isinstance(a, np.ndarray) and not isinstance(b, np.ndarray):
        return None
    return np.concatenate([_part(a, recent), _part(b, later)])


def _picked(values: tuple[Any, ...], chosen: Chosen) -> list[Any]:
    return [value for value, here in zip(values, chosen.tolist(), strict=False) if here]


def _part(column: Any, chosen: Chosen) -> NDArray[Any]:
    return column[chosen] if isinstance(column, np.ndarray) else np.full(int(chosen.sum()), np.nan)
