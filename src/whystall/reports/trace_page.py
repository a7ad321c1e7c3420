"""A trace report as the dashboard draws it: the report's own tables in one language, and the steps to draw."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from whystall.profiles.report import TraceReport

from .trace_html import timeline
from .trace_sheet import Sheet
from .trace_tables import about, notes, sheets


class TraceNote(msgspec.Struct, frozen=True):
    """A remark on the files: ``warning`` where something was handled or left out."""

    level: str
    text: str


class TracePage(msgspec.Struct, frozen=True):
    """``timelines``: for each file with steps its name, its end and its steps, in nanoseconds after its start."""

    headline: str
    about: tuple[str, ...]
    notes: tuple[TraceNote, ...]
    sheets: tuple[Sheet, ...]
    timelines: tuple[dict[str, Any], ...] = ()
    schema: Literal["whystall.trace_page/1"] = "whystall.trace_page/1"


def trace_page(report: TraceReport, lang: str) -> TracePage:
    """The page of ``report`` in ``lang``."""
    drawn = [timeline(summary) for summary in report.timelines if summary.rows]
    return TracePage(
        headline=report.headline.in_(lang),
        about=tuple(about(file, lang) for file in report.files),
        notes=tuple(TraceNote(level, text) for level, text in notes(report, lang)),
        sheets=tuple(sheets(report, lang)),
        # Its kernels are a table already.
        timelines=tuple({key: one[key] for key in ("file", "end", "steps")} for one in drawn),
    )
