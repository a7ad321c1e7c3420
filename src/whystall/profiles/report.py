"""What ``whystall trace`` says: one entry per file, and what only several files together can tell."""

from __future__ import annotations

from typing import Literal

import msgspec

from whystall.model.recording import InputWarning
from whystall.model.text import Text

from .call_profiles import CallSummary
from .iterations import IterationSummary
from .ncu import CounterSummary
from .ranks import RankCollectives, RankComparison
from .ray_tasks import TaskSummary
from .spans import Span, SpanSummary
from .summary import TraceSummary


class FileReport(msgspec.Struct, frozen=True):
    """One file: its format and the summary of its kind; the others are None."""

    file: str
    format: str
    timeline: TraceSummary | None = None
    counters: CounterSummary | None = None
    calls: CallSummary | None = None
    spans: SpanSummary | None = None
    iterations: IterationSummary | None = None
    tasks: TaskSummary | None = None
    warnings: tuple[InputWarning, ...] = ()


class TraceReport(msgspec.Struct, frozen=True):
    """The JSON contract ``whystall.trace/1``. ``headline`` is the most that the files can say in one sentence."""

    headline: Text
    files: tuple[FileReport, ...]
    ranks: RankComparison | None = None
    failed: tuple[InputWarning, ...] = ()
    schema: Literal["whystall.trace/1"] = "whystall.trace/1"

    @property
    def timelines(self) -> tuple[TraceSummary, ...]:
        return tuple(file.timeline for file in self.files if file.timeline is not None)


class FileResult(msgspec.Struct, frozen=True):
    """What a worker hands back: the report and what joins it with other files."""

    report: FileReport
    collectives: RankCollectives | None = None
    spans: tuple[Span, ...] = ()
