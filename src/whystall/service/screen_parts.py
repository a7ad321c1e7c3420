"""What the terminal's live screen shows, as plain text: no terminal needed to test it."""

from __future__ import annotations

import math

import msgspec
import numpy as np

from whystall.model.diagnosis import Cause, Diagnosis
from whystall.model.text import Text
from whystall.model.timeline import Timeline
from whystall.reports.answer import answer, onset_text
from whystall.reports.figures import clock, figure, probability
from whystall.reports.finding import Finding
from whystall.reports.phrases import say
from whystall.reports.printable import clean
from whystall.reports.sparkline import sparkline
from whystall.reports.titles import cause_title

from .live_feed import Look

LABEL_CELLS = 32  # "mean queue time (at the finish)"
FIGURE_CELLS = 24
_COLLECTING = Text("Looking: {scrapes} scrapes so far, more are needed.", "正在观察：已抓取 {scrapes} 次，还需要更多。")
_NO_ANSWER = Text("no page: {error}", "无页面：{error}")
_LIMIT = Text("of {limit}", "上限 {limit}")
_NO_CAUSE = Text("No cause is named.", "没有指出原因。")
_PAUSED = Text("paused", "已暂停")


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
            parts.insert(2, clean(engine.id))
    if look.error:
        parts.append(_NO_ANSWER.format(error=clean(look.error)).in_(lang))
    if paused:
        parts.append(_PAUSED.in_(lang))
    return " · ".join(parts)


def answer_lines(look: Look | None, lang: str) -> list[str]:
    """The three lines of the answer."""
    if look is None or look.finding is None:
        return [_COLLECTING.format(scrapes=look.scrapes if look else 0).in_(lang)]
    found = answer(look.finding.diagnosis, lang)
    return [f"{found.mark} {found.word.upper()}  {found.headline}", found.since, found.first]


def picture_lines(timeline: Timeline | None, lang: str, cells: int) -> list[str]:
    """A row for each line of the timeline: name, shape, its newest value, and its limit where one is drawn."""
    if timeline is None:
        return []
    width = max(8, cells - LABEL_CELLS - FIGURE_CELLS)
    rows = []
    for panel in timeline.panels:
        for line in panel.lines:
            seen = line.values[np.isfinite(line.values)]
            now = figure(float(seen[-1]) if seen.size else math.nan, clean(panel.unit), lang)
            if line.limit is not None and panel.unit != "ratio":
                now += " " + _LIMIT.format(limit=figure(line.limit, "", lang).strip()).in_(lang)
            label = clean(line.label.in_(lang))
            rows.append(f"{_fitted(label, LABEL_CELLS)}{sparkline(line.values, width):>{width}} {now}")
    return rows


def _fitted(text: str, cells: int) -> str:
    """``text`` in exactly so many cells of a terminal; a Chinese sign takes two."""
    out, used = "", 0
    for letter in text:
        wide = 2 if ord(letter) > 0x2E7F else 1
        if used + wide > cells - 1:
            break
        out, used = out + letter, used + wide
    return out + " " * (cells - used)


def cause_rows(diagnosis: Diagnosis, lang: str) -> list[CauseRow]:
    """The causes that were found, most probable first."""
    return [
        CauseRow(
            cause.id,
            probability(cause.probability),
            cause_title(cause.id, lang),
            say(f"role_{cause.role}", lang),
            onset_text(cause.onset, lang),
        )
        for cause in diagnosis.causes
    ]


def why_lines(cause: Cause | None, lang: str) -> list[str]:
    """The whys of a cause with the mark of their checks."""
    if cause is None:
        return [_NO_CAUSE.in_(lang)]
    head = clean(cause.summary.in_(lang))
    return [head, *(f"{'✔' if why.holds else '✘'} {clean(why.claim.in_(lang))}" for why in cause.whys)]
