"""A health report for people: a line that says it, a table of engines, the incidents."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime

from whystall.model.fleet import EngineCondition
from whystall.model.health import EngineHealth, HealthReport
from whystall.model.incident import Incident
from whystall.model.text import Text

from .incident_line import lasted
from .printable import clean

MOST_LINES = 10  # of a message: whoever wants all reads the file
_CONDITIONS: dict[EngineCondition, Text] = {
    "incident": Text("in an incident", "事件中"),
    "unreachable": Text("unreachable", "无法访问"),
    "warning": Text("warned of", "预警"),
    "starting": Text("not looked at yet", "尚未诊断"),
    "ok": Text("in order", "正常"),
}
_TITLE = Text(
    "Health, engines {n}: {counts}; incidents: {incidents}", "{n} 个引擎的健康报告：{counts}；{incidents} 起事件"
)
_TIME = Text("{since} to {until} UTC", "{since} 至 {until}（UTC）")
_TROUBLE = Text("incidents: {n}, {time}", "{n} 起事件，共 {time}")
_NO_TROUBLE = Text("no incident", "无事件")
_MORE = Text("and {n} more", "另有 {n} 个")
_LATE = Text("The watch itself was late for {time} lately.", "监视进程最近滞后 {time}。")
_STORE = Text("The store cannot be written: {why}", "存储无法写入：{why}")
_HEADS = Text(
    "| engine | now | in that time | left of the nearest limit | what it says |",
    "| 引擎 | 现在 | 期间 | 距最近限制 | 说明 |",
)
_INCIDENTS = Text("Incidents", "事件")
_OPEN = Text("open", "进行中")
_NONE = Text("None.", "无。")


def health_title(report: HealthReport) -> Text:
    """All of it in a line."""
    counted = Counter(one.condition for one in report.engines)
    told = [
        Text(f"{counted[id]} {text.en}", f"{counted[id]} 个{text.zh}")
        for id, text in _CONDITIONS.items()
        if counted[id]
    ]
    counts = Text(", ".join(one.en for one in told) or "0", "、".join(one.zh for one in told) or "0")
    return _TITLE.format(n=len(report.engines), counts=counts, incidents=len(report.incidents))


def health_lines(report: HealthReport, lang: str) -> list[str]:
    """What a message says below the title: the time, and the engines that had trouble or have."""
    bad = [one for one in report.engines if one.trouble_s > 0 or one.incidents or one.condition != "ok"]
    lines = [
        _time(report).in_(lang),
        *(f"{one.id}: {_trouble(one).in_(lang)}; {_headline(one, lang)}" for one in bad[:MOST_LINES]),
    ]
    more = [_MORE.format(n=len(bad) - MOST_LINES).in_(lang)] if len(bad) > MOST_LINES else []
    return [clean(line) for line in (*lines, *more, *_own(report, lang))]


def health_markdown(report: HealthReport, lang: str) -> str:
    """The whole report as Markdown; what a server says is only text in it."""
    rows = [_row(one, lang) for one in report.engines]
    incidents = [f"- {_incident(one, lang)}" for one in report.incidents] or [_NONE.in_(lang)]
    parts = [f"# {_plain(health_title(report).in_(lang))}", _time(report).in_(lang), *map(_plain, _own(report, lang))]
    parts.append("\n".join([_HEADS.in_(lang), "|---|---|---|---|---|", *rows]))
    return "\n\n".join([*parts, f"## {_INCIDENTS.in_(lang)}", "\n".join(incidents)]) + "\n"


def _time(report: HealthReport) -> Text:
    since, until = (f"{datetime.fromtimestamp(t, UTC):%F %H:%M}" for t in (report.since, report.until))
    return _TIME.format(since=since, until=until)


def _own(report: HealthReport, lang: str) -> list[str]:
    late = [_LATE.format(time=lasted(report.late_s)).in_(lang)] if report.late_s > 0 else []
    return late + ([_STORE.format(why=report.store_error).in_(lang)] if report.store_error.en else [])


def _trouble(one: EngineHealth) -> Text:
    return _TROUBLE.format(n=one.incidents, time=lasted(one.trouble_s)) if one.incidents else _NO_TROUBLE


def _headline(one: EngineHealth, lang: str) -> str:
    return one.headline.in_(lang)


def _row(one: EngineHealth, lang: str) -> str:
    left = "–" if one.left_ratio is None else f"{one.left_ratio:.0%}"
    cells = (one.id, _CONDITIONS[one.condition].in_(lang), _trouble(one).in_(lang), left, _headline(one, lang))
    return f"| {' | '.join(map(_plain, cells))} |"


def _incident(one: Incident, lang: str) -> str:
    since = f"{datetime.fromtimestamp(one.since, UTC):%F %H:%M}"
    time = lasted(one.recovered - one.since) if one.recovered is not None else _OPEN
    return _plain(f"#{one.id} {one.engine_id}, {since}, {time.in_(lang)}: {one.headline.in_(lang)}")


def _plain(text: str) -> str:
    """One line in which nothing is markup."""
    told = clean(text).replace("\\", "\\\\")
    for mark in "`*_[]<>|":
        told = told.replace(mark, f"\\{mark}")
    return told
