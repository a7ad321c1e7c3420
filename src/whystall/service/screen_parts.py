"""What the terminal's live screen shows, as plain text: no terminal needed to test it."""

from __future__ import annotations

import math

import msgspec
import numpy as np
from rich.cells import cell_len, set_cell_size

from whystall.model.diagnosis import Cause, Diagnosis
from whystall.model.text import Text
from whystall.model.timeline import Timeline, TimelineLine
from whystall.reports.answer import answer
from whystall.reports.figures import clock, figure, probability
from whystall.reports.finding import Finding
from whystall.reports.printable import clean
from whystall.reports.sparkline import sparkline
from whystall.reports.titles import cause_title

from .live_feed import Look

MOST_LABEL = 32  # cells, and a third of the terminal at most: "mean queue time (at the finish)"
LEAST_PICTURE = 8  # cells
LEAST_S = 10.0  # of looking: an answer of less is none, and on a screen that goes on nothing need be done about it
_COLLECTING = Text("Looking: {scrapes} scrapes so far, more are needed.", "正在观察：已抓取 {scrapes} 次，还需要更多。")
_NO_ANSWER = Text("no page: {error}", "无页面：{error}")
_LIMIT = Text("of {limit}", "上限 {limit}")
_NO_CAUSE = Text("No cause is named.", "没有指出原因。")
_PAUSED = Text("paused", "已暂停")
_ENGINE = Text("engine {id}", "引擎 {id}")
_BEFORE = Text("before {time}", "{time} 之前")
_ROLES = {
    "trigger": Text("trigger", "触发因素"),
    "limit": Text("limit", "约束因素"),
}


class CauseRow(msgspec.Struct, frozen=True):
    """A cause as a row of the table."""

    id: str
    chance: str
    title: str
    role: str
    since: str


def chosen(finding: Finding, number: int) -> Finding:
    """The finding of one engine of a page; ``number`` counts on round and round."""
    return finding.engines[number % len(finding.engines)] if finding.engines else finding


def status_line(look: Look | None, target: str, lang: str, *, paused: bool = False) -> str:
    """Whose answer it is, of which moment, and what does not go well."""
    if look is None:
        return target
    engine = look.finding.diagnosis.engine if look.finding else None
    parts = [target, clock(look.t)]
    if engine is not None:
        parts[1:1] = [clean(f"{engine.name} {engine.version or ''}".strip())]
        if engine.id:
            parts.insert(2, _ENGINE.format(id=clean(engine.id)).in_(lang))
    if look.error:
        parts.append(_NO_ANSWER.format(error=clean(look.error)).in_(lang))
    if paused:
        parts.append(_PAUSED.in_(lang))
    return " · ".join(parts)


def answer_lines(look: Look | None, lang: str) -> list[str]:
    """The three lines of the answer."""
    if look is None or look.finding is None:
        return [_COLLECTING.format(scrapes=look.scrapes if look else 0).in_(lang)]
    diagnosis = look.finding.diagnosis
    if diagnosis.verdict == "unknown" and diagnosis.window.seconds < LEAST_S:
        return [_COLLECTING.format(scrapes=look.scrapes).in_(lang)]
    found = answer(diagnosis, lang)
    return [f"{found.mark} {found.word.upper()}  {found.headline}", found.since, found.first]


def picture_lines(timeline: Timeline | None, lang: str, cells: int) -> list[str]:
    """A row for each line of the timeline: name, shape, its newest value, and its limit where one is drawn."""
    if timeline is None:
        return []
    lines = [(panel.unit, line) for panel in timeline.panels for line in panel.lines]
    labels = [clean(line.label.in_(lang)) for _, line in lines]
    figures = [_now(line, unit, lang) for unit, line in lines]
    label = min(max(map(cell_len, labels), default=0) + 1, MOST_LABEL, cells // 3)
    width = max(LEAST_PICTURE, cells - label - 1 - max(map(cell_len, figures), default=0))
    return [
        f"{_fitted(name, label)}{sparkline(line.values, width):>{width}} {now}"
        for name, now, (_, line) in zip(labels, figures, lines, strict=True)
    ]


def _now(line: TimelineLine, unit: str, lang: str) -> str:
    """The newest value, with its limit where one is drawn."""
    seen = line.values[np.isfinite(line.values)]
    now = figure(float(seen[-1]) if seen.size else math.nan, clean(unit), lang)
    if line.limit is None or unit == "ratio":
        return now
    return f"{now} {_LIMIT.format(limit=figure(line.limit, '', lang).strip()).in_(lang)}"


def _fitted(text: str, cells: int) -> str:
    """``text`` in exactly so many cells of a terminal, the last of them a space; a Chinese sign takes two."""
    short = text if cell_len(text) < cells else set_cell_size(text, cells - 2).rstrip() + "…"
    return set_cell_size(short, cells)


def cause_rows(diagnosis: Diagnosis, lang: str) -> list[CauseRow]:
    """The causes that were found, most probable first."""
    return [
        CauseRow(
            cause.id,
            probability(cause.probability),
            cause_title(cause.id, lang),
            _ROLES[cause.role].in_(lang),
            _since(cause, diagnosis.window.start, lang),
        )
        for cause in diagnosis.causes
    ]


def _since(cause: Cause, start: float, lang: str) -> str:
    """On the clock: the window moves on with each look."""
    if cause.onset is None:
        return _BEFORE.format(time=clock(start).removesuffix(" UTC")).in_(lang)
    return clock(start + cause.onset.seconds).removesuffix(" UTC")


def why_lines(cause: Cause | None, lang: str) -> list[str]:
    """The whys of a cause with the mark of their checks."""
    if cause is None:
        return [_NO_CAUSE.in_(lang)]
    head = clean(cause.summary.in_(lang))
    return [head, *(f"{'✔' if why.holds else '✘'} {clean(why.claim.in_(lang))}" for why in cause.whys)]
