"""From a node's page to a table for each replica's engine."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from whystall.model.recording import Floats, SeriesKey, SeriesTable
from whystall.sources.dialects import describe

# Ray adds these; without them a series reads as it stands on vLLM's own page.
_ADDED = frozenset(
    ("ReplicaId", "WorkerId", "NodeAddress", "SessionName", "Version", "Component", "deployment", "application")
)
_SCOPE = "otel_scope_"
# Workers report every 10 s. Without a change for this long nothing was reported, or nothing happened.
SILENT_REPORT_S = 25.0


def engines_of(table: SeriesTable) -> dict[str, SeriesTable]:
    """The replica's id ("" where a page does not tell) -> the table of its engine, as vLLM's own page would give it."""
    rows: dict[str, list[int]] = {}
    for row, key in enumerate(table.keys):
        if _is_engine(key):
            rows.setdefault(_replica(key), []).append(row)
    return {replica: reported(_only(table, found)) for replica, found in rows.items()}


def node_rows(table: SeriesTable) -> SeriesTable:
    """The series of the node itself, ``ray_node_*``."""
    found = [row for row, key in enumerate(table.keys) if is_node_row(key)]
    return SeriesTable(table.times, tuple(table.keys[row] for row in found), table.values[found])


def reported(table: SeriesTable) -> SeriesTable:
    """The scrapes at which something new stood on the page: a worker reports less often than the page is read.

    Between two reports the page repeats itself; read as rates, that would be a standstill and then a jump. What came
    before the first change is left out, for nobody knows how old it was. A table without two changes stays as it is.
    """
    if table.values.shape[1] < 3:
        return table
    with np.errstate(invalid="ignore"):
        before, after = table.values[:, :-1], table.values[:, 1:]
        differs = (before != after) & ~(np.isnan(before) & np.isnan(after))
    changed = np.flatnonzero(differs.any(axis=0)) + 1
    if len(changed) < 2:
        return table
    kept = _with_silence(changed, table.times)
    return SeriesTable(table.times[kept], table.keys, table.values[:, kept], table.types, table.failed)


def _with_silence(changed: NDArray[np.int64], times: Floats) -> list[int]:
    """The changes, and scrapes in pauses that are too long to be one report's."""
    changes = set(changed.tolist())
    kept = [int(changed[0])]
    for at in range(kept[0] + 1, len(times)):
        if at in changes or times[at] - times[kept[-1]] >= SILENT_REPORT_S:
            kept.append(at)
    return kept


def report_interval(table: SeriesTable) -> float:
    """Seconds between reports, NaN where there are not two."""
    return float(np.median(np.diff(table.times))) if len(table.times) > 1 else float("nan")


def engine_key(key: SeriesKey) -> tuple[str, SeriesKey] | None:
    """The replica that a series of a node's page is of, and the series as on vLLM's own page; None for another series."""
    return (_replica(key), _plain(key)) if _is_engine(key) else None


def is_node_row(key: SeriesKey) -> bool:
    """Whether it is of the node itself."""
    return key.name.startswith("ray_node_")


def _is_engine(key: SeriesKey) -> bool:
    entry = describe(key.name)
    return entry is not None and bool(entry.prefix)


def _replica(key: SeriesKey) -> str:
    return key.label("ReplicaId") or key.label("WorkerId")


def _only(table: SeriesTable, rows: Sequence[int]) -> SeriesTable:
    keys = [_plain(table.keys[row]) for row in rows]
    last = dict(zip(keys, rows, strict=True))  # one engine: a worker before it may still stand there
    return SeriesTable(table.times, tuple(last), table.values[list(last.values())], table.types, table.failed)


def _plain(key: SeriesKey) -> SeriesKey:
    kept = tuple(pair for pair in key.labels if pair[0] not in _ADDED and not pair[0].startswith(_SCOPE))
    return SeriesKey(key.name, kept)
