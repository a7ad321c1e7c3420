"""The samples of a table's series by label, at the times when they were there."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from whystall.model.recording import Floats, SeriesKey, SeriesTable


class Samples:
    """Look-up of a table by metric name."""

    def __init__(self, table: SeriesTable) -> None:
        self.times = table.times
        self._table = table
        self._rows: dict[str, list[int]] = {}
        for row, key in enumerate(table.keys):
            self._rows.setdefault(key.name, []).append(row)

    def keys(self, *names: str) -> Iterator[SeriesKey]:
        """The series of these names."""
        return (self._table.keys[row] for name in names for row in self._rows.get(name, ()))

    def first(self, names: Iterable[str], **labels: str) -> Floats | None:
        """The values, over all times, of the first of these names that is there with these labels; NaN where absent."""
        for name in names:
            for row in self._rows.get(name, ()):
                if all(self._table.keys[row].label(label) == value for label, value in labels.items()):
                    return np.asarray(self._table.values[row])
        return None

    def total(self, name: str, **labels: str) -> Floats | None:
        """The sum of all series of that name and labels, NaN where none has a sample; None where there is none."""
        rows = [
            row
            for row in self._rows.get(name, ())
            if all(self._table.keys[row].label(label) == value for label, value in labels.items())
        ]
        if not rows:
            return None
        values = self._table.values[rows]
        return np.where(np.isfinite(values).any(axis=0), np.nansum(values, axis=0), np.nan)

    def labels(self, name: str, label: str) -> list[str]:
        """The values of a label over the series of that name, in order and once each."""
        return list(dict.fromkeys(key.label(label) for key in self.keys(name)))


def at(values: Floats | None, place: int, unit: float = 1.0) -> float | None:
    """One sample in SI units; None where it is missing or no number."""
    if values is None or not np.isfinite(values[place]):
        return None
    return float(values[place]) * unit
