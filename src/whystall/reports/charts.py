"""The timeline as the page's script reads it: plain lists, bounded in length."""

from __future__ import annotations

import math

import msgspec
import numpy as np
from numpy.typing import NDArray

from whystall.model.diagnosis import Cause
from whystall.model.timeline import Timeline, TimelineLine, TimelinePanel

from .answer import leading_cause
from .finding import Finding
from .phrases import say
from .printable import clean
from .titles import cause_title

MOST_POINTS = 4000  # a screen has fewer columns; beyond it the lowest and highest of each bin are kept
Floats = NDArray[np.float64]


class ChartLine(msgspec.Struct, frozen=True):
    label: str
    values: list[float | None]
    limit: float | None
    limit_label: str


class ChartPanel(msgspec.Struct, frozen=True):
    id: str
    title: str
    unit: str
    lines: list[ChartLine]


class ChartOnset(msgspec.Struct, frozen=True):
    """A vertical line with its interval; ``first`` for the one that the answer gives."""

    seconds: float
    low: float
    high: float
    label: str
    first: bool


class ChartData(msgspec.Struct, frozen=True):
    """All charts of one engine. ``t`` is seconds after ``start`` (unix)."""

    start: float
    t: list[float | None]
    panels: list[ChartPanel]
    onsets: list[ChartOnset]
    words: dict[str, str]


def chart_data(finding: Finding, lang: str) -> ChartData:
    """The charts of ``finding``; without a timeline there are no panels."""
    timeline = finding.timeline or Timeline(finding.diagnosis.window.start, np.zeros(0), ())
    words = {name: say(f"chart_{name}", lang) for name in ("time", "onset")}
    words["above"] = say("chart_limit_above", lang, label="{label}")
    return ChartData(
        start=timeline.start,
        t=_numbers(_bins(timeline.t)),
        panels=[_panel(panel, lang) for panel in timeline.panels],
        onsets=_onsets(finding.diagnosis.causes, lang),
        words=words,
    )


def _panel(panel: TimelinePanel, lang: str) -> ChartPanel:
    lines = [_line(line, lang) for line in panel.lines]
    return ChartPanel(clean(panel.id), clean(panel.title.in_(lang)), clean(panel.unit), lines)


def _line(line: TimelineLine, lang: str) -> ChartLine:
    label = clean(line.limit_label.in_(lang)) if line.limit_label else ""
    limit = line.limit if line.limit is not None and math.isfinite(line.limit) else None
    return ChartLine(clean(line.label.in_(lang)), _numbers(thinned(line.values)), limit, label)


def _onsets(causes: tuple[Cause, ...], lang: str) -> list[ChartOnset]:
    leading = leading_cause(causes)
    return [
        ChartOnset(
            cause.onset.seconds, cause.onset.low, cause.onset.high, cause_title(cause.id, lang), cause is leading
        )
        for cause in causes
        if cause.onset is not None
    ]


def thinned(values: Floats) -> Floats:
    """At most ``MOST_POINTS`` values: each bin's lowest and highest, so that a spike stays in sight."""
    if values.size <= MOST_POINTS:
        return values
    bins = np.array_split(values, MOST_POINTS // 2)
    return np.array([value for part in bins for value in _ends(part)])


def _ends(part: Floats) -> tuple[float, float]:
    known = part[~np.isnan(part)]
    return (float(known.min()), float(known.max())) if known.size else (math.nan, math.nan)


def _bins(t: Floats) -> Floats:
    """The times that go with :func:`thinned` values: each bin's first and middle."""
    if t.size <= MOST_POINTS:
        return t
    bins = np.array_split(t, MOST_POINTS // 2)
    return np.array([time for part in bins for time in (part[0], part[part.size // 2])])


def _numbers(values: Floats) -> list[float | None]:
    # Six digits: more than a screen shows, and a third of the size.
    return [float(f"{value:.6g}") if math.isfinite(value) else None for value in values.tolist()]
