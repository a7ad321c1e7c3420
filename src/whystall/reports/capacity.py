"""A server's capacity, for a terminal or a program."""

from __future__ import annotations

from rich.console import Group, RenderableType

from whystall.errors import UsageError
from whystall.model.capacity import Broken, Capacity, CapacityPoint, Held
from whystall.model.diagnosis import Notice
from whystall.model.text import Text

from .figures import duration, figure, number
from .json import to_json
from .line import Line
from .outline import Table
from .printable import clean
from .text import printed, table_section

LOAD_FORMATS = ("text", "json")
_FOUND = Text("Capacity: {rate} within {slo}", "容量：在 {slo} 内 {rate}")
_NOT_FOUND = Text("The capacity was not found", "未能确定容量")
_ABOUT = Text(
    "{target}: {points} rates tried in {seconds}; {load}", "{target}：{seconds} 内试了 {points} 个速率；{load}"
)
_POINTS = Text("Rates tried", "试过的速率")
_FINDINGS = Text("About the measurement", "关于测量本身")
_COLUMNS = (
    Text("rate", "速率"),
    Text("verdict", "结论"),
    Text("within the SLO", "满足 SLO"),
    Text("TTFT p95"),
    Text("ITL p95"),
    Text("E2E p95"),
    Text("throughput", "吞吐量"),
    Text("requests", "请求"),
)
_VERDICTS: dict[Held, Text] = {"holds": Text("holds", "满足"), "fails": Text("fails", "不满足")}
_BROKEN: dict[Broken, Text] = {
    "slo": Text("SLO", "SLO"),
    "queue": Text("queue grows", "队列增长"),
    "errors": Text("errors", "错误"),
}


def render_capacity(
    found: Capacity, format: str, lang: str = "en", width: int | None = None, color: bool = False
) -> str:
    """``found`` in one of ``LOAD_FORMATS``. Raises UsageError for a format that there is not."""
    if format == "json":
        return to_json(found, lang)
    if format == "text":
        return printed(Group(*_text(found, lang)), width or 80, color)
    raise UsageError(f"{format!r} is not a format of stress", f"Known are {', '.join(LOAD_FORMATS)}.")


def _text(found: Capacity, lang: str) -> list[RenderableType]:
    rate = figure(found.rate, "req/s", lang)
    known = found.rate is not None and found.fails_at is not None
    first = _FOUND.format(rate=rate, slo=found.slo) if known else _NOT_FOUND
    said = {"target": found.target, "points": str(len(found.points)), "seconds": duration(found.seconds)}
    lines = [first.in_(lang), found.because.in_(lang), _ABOUT.format(**said, load=found.load).in_(lang)]
    parts: list[RenderableType] = [Line(clean(lines[0]), style="bold"), *(Line(clean(line)) for line in lines[1:])]
    rows = tuple(_row(point, lang) for point in sorted(found.points, key=lambda p: p.rate))
    columns = tuple(column.in_(lang) for column in _COLUMNS)
    parts += table_section(Table("points", _POINTS.in_(lang), columns, rows) if rows else None)
    return parts + findings_section(found.findings, lang)


def _row(point: CapacityPoint, lang: str) -> tuple[str, ...]:
    broken = ", ".join(_BROKEN[what].in_(lang) for what in point.broken)
    verdict = _VERDICTS[point.verdict].in_(lang) + (f" ({broken})" if broken else "")
    seen = [figure(point.figures.get(metric), "s", lang) for metric in ("ttft_p95", "itl_p95", "e2e_p95")]
    throughput = figure(point.figures.get("tokens_per_s"), "tok/s", lang)
    attained = figure(point.attainment, "ratio", lang)
    return (number(point.rate), verdict, attained, *seen, throughput, str(point.requests))


def findings_section(findings: tuple[Notice, ...], lang: str) -> list[RenderableType]:
    """What may be wrong with the measurement, one a line; nothing where nothing is."""
    rows = tuple((one.id, clean(one.text.in_(lang))) for one in findings)
    return table_section(Table("findings", _FINDINGS.in_(lang), ("", ""), rows) if rows else None)
