"""The timeline in a terminal: a row of blocks for each line, so that the shape is seen without a browser."""

from __future__ import annotations

import math

import msgspec
import numpy as np
from numpy.typing import NDArray

from whystall.model.timeline import Timeline, TimelineLine

from .answer import leading_cause
from .figures import figure
from .finding import Finding
from .printable import clean

BLOCKS = "▁▂▃▄▅▆▇█"
MARK = "▲"
Floats = NDArray[np.float64]


class SparkRow(msgspec.Struct, frozen=True):
    """One line of the timeline: its name, its shape, and its lowest and highest value."""

    label: str
    cells: str
    span: str


def spark_rows(finding: Finding, lang: str, cells: int) -> tuple[SparkRow, ...]:
    """A row for each line that has more than one value, in the order of the panels."""
    panels = finding.timeline.panels if finding.timeline else ()
    rows = (_row(line, panel.unit, lang, cells) for panel in panels for line in panel.lines if _moves(line))
    return tuple(rows)


def onset_cell(finding: Finding, cells: int) -> int | None:
    """The cell of the onset that the answer gives; None where there is none, or it lies outside the timeline."""
    leading = leading_cause(finding.diagnosis.causes)
    if leading is None or leading.onset is None or not _length(finding.timeline):
        return None
    share = leading.onset.seconds / _length(finding.timeline)
    return min(cells - 1, int(share * cells)) if 0 <= share <= 1 else None


def sparkline(values: Floats, cells: int) -> str:
    """``values`` as at most ``cells`` blocks from their lowest to their highest; a blank where nothing was seen.

    A cell shows the highest value of its share of the time, so that a spike stays in sight.
    """
    tops = [_top(part) for part in np.array_split(values, min(cells, len(values)))]
    known = [top for top in tops if not math.isnan(top)]
    low, high = min(known, default=0.0), max(known, default=0.0)
    # Divided by the span, not multiplied by its inverse, which overflows for the smallest of floats.
    span = high - low if high > low else math.inf
    return "".join(" " if math.isnan(top) else BLOCKS[_eighth((top - low) / span)] for top in tops)


def _eighth(share: float) -> int:
    return round(share * (len(BLOCKS) - 1)) if math.isfinite(share) else 0


def _row(line: TimelineLine, unit: str, lang: str, cells: int) -> SparkRow:
    seen = line.values[np.isfinite(line.values)]
    low, high = (figure(float(end), clean(unit), lang) for end in (seen.min(), seen.max()))
    number, _, its_unit = low.partition(" ")
    # "1 – 37 requests": a unit that both share is said once.
    shared = high.partition(" ")[2] in (its_unit, f"{its_unit}s") and its_unit
    span = f"{number if shared else low} – {high}"
    return SparkRow(clean(line.label.in_(lang)), sparkline(line.values, cells), span)


def _moves(line: TimelineLine) -> bool:
    seen = line.values[np.isfinite(line.values)]
    return seen.size > 1 and bool(seen.min() < seen.max())


def _top(part: Floats) -> float:
    seen = part[np.isfinite(part)]
    return float(seen.max()) if seen.size else math.nan


def _length(timeline: Timeline | None) -> float:
    return float(timeline.t[-1]) if timeline is not None and timeline.t.size else 0.0
