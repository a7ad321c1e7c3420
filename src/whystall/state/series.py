"""One engine's series by quantity: from the raw table to arrays over the scrapes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from whystall.model.recording import SeriesKey, SeriesTable
from whystall.sources.dialects import Quantity, quantity, shadowed

Floats = NDArray[np.float64]
# Every engine that has served a request has it; a rank that runs elsewhere has only gauges.
_MARK = "iteration_tokens_total"
_ENGINE_LABELS = ("engine", "ReplicaId")
# None of our quantities is below zero or comes near this: a value that does is damage and counts as not seen.
_LARGEST = 1e18


class EngineSeries:
    """The series of one engine, and those that belong to the whole process, found by quantity and label.

    ``engine`` is None where the page does not tell engines apart.
    """

    def __init__(self, table: SeriesTable, engine: tuple[str, str] | None, rows: list[tuple[int, Quantity]]) -> None:
        self._table = table
        self.engine = engine
        self._rows: dict[tuple[str, str], list[int]] = {}
        for row, found in rows:
            self._rows.setdefault((found.name, found.part), []).append(row)

    def rows(self, name: str, part: str = "value", **labels: str) -> list[int]:
        found = self._rows.get((name, part), [])
        return [r for r in found if all(self._table.keys[r].label(k) == v for k, v in labels.items())]

    def label(self, row: int, name: str) -> str:
        """The value of a row's label, "" where it has none of that name."""
        return self._table.keys[row].label(name)

    def own(self, keep: NDArray[np.int64]) -> SeriesTable:
        """The table of these series alone, at the scrapes ``keep``."""
        rows = sorted({row for found in self._rows.values() for row in found})
        keys = tuple(self._table.keys[row] for row in rows)
        return SeriesTable(self._table.times[keep], keys, self._table.values[rows][:, keep])

    def total(self, name: str, part: str = "value", **labels: str) -> Floats:
        """Sum over the matching series at each scrape, NaN where none of them was on the page."""
        return self._sum(self.rows(name, part, **labels))

    def buckets(self, name: str) -> tuple[Floats, Floats]:
        """Finite bounds ``[b]`` and cumulative counts ``[b + 1, n]`` (the last row is +Inf), summed over labels."""
        by_bound: dict[float, list[int]] = {}
        for row in self.rows(name, "bucket"):
            by_bound.setdefault(_bound(self._table.keys[row]), []).append(row)
        bounds = sorted(b for b in by_bound if np.isfinite(b))
        rows = [by_bound[b] for b in bounds] + [by_bound.get(float("inf"), [])]
        return np.asarray(bounds), np.stack([self._sum(r) for r in rows])

    def _sum(self, rows: list[int]) -> Floats:
        values = self._table.values[rows]
        seen = (values >= 0) & (values < _LARGEST)
        return np.where(seen.any(axis=0), np.where(seen, values, 0.0).sum(axis=0), np.nan)


def split_engines(table: SeriesTable) -> list[EngineSeries]:
    """The engines of a table, in order of their label.

    vLLM tells engines apart by ``engine`` and ``model_name``, Ray adds ``ReplicaId``. Some series carry only one of the
    labels (``cache_config_info`` no model, ``admission_rejections`` no engine) or none (``process_*``): they belong to
    every engine that does not contradict them. Old names that stand beside their new ones (0.9.2 to 0.14) are left out.
    """
    known = _known(table)
    owned: dict[tuple[str, str], list[tuple[int, Quantity]]] = {}
    for row, found in known:
        owned.setdefault(_owner(table.keys[row]), []).append((row, found))
    engines = [owner for owner in owned if any(owner) and not _is_part(owner, set(owned))]
    if not engines:
        return [EngineSeries(table, None, known)] if known else []
    engines.sort(key=lambda owner: (len(owner[0]), owner))  # 2 before 10
    split = [
        EngineSeries(table, engine, [pair for owner, rows in owned.items() if _fits(owner, engine) for pair in rows])
        for engine in engines
    ]
    # In multiprocess mode a page may carry idle gauges of ranks that run on other hosts; only their own pages say more.
    here = [series for series in split if series.rows(_MARK, "count")]
    return here or split


def _known(table: SeriesTable) -> list[tuple[int, Quantity]]:
    twice = shadowed({key.name for key in table.keys})
    return [
        (row, found)
        for row, key in enumerate(table.keys)
        if key.name not in twice and (found := quantity(key.name)) is not None
    ]


def _owner(key: SeriesKey) -> tuple[str, str]:
    return "/".join(part for name in _ENGINE_LABELS if (part := key.label(name))), key.label("model_name")


def _fits(owner: tuple[str, str], engine: tuple[str, str]) -> bool:
    return all(not part or part == whole for part, whole in zip(owner, engine, strict=True))


def _is_part(owner: tuple[str, str], owners: set[tuple[str, str]]) -> bool:
    return any(other != owner and _fits(owner, other) for other in owners)


def _bound(key: SeriesKey) -> float:
    try:
        return float(key.label("le", "nan"))
    except ValueError:
        return float("nan")
