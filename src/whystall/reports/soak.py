"""What hours of load showed, for a terminal or a program."""

from __future__ import annotations

from rich.console import Group, RenderableType

from whystall.errors import UsageError
from whystall.model.soak import Soak, SoakVerdict, Trend
from whystall.model.text import Text
from whystall.trials.metrics import METRICS
from whystall.trials.rules import bounds, percent_text

from .capacity import LOAD_FORMATS, findings_section
from .figures import clock, duration, figure
from .json import to_json
from .line import Line
from .outline import Table
from .printable import clean
from .text import printed, table_section

_VERDICTS: dict[SoakVerdict, Text] = {
    "steady": Text("Steady", "平稳"),
    "worse": Text("Getting worse", "逐渐变差"),
    "failing": Text("Failing", "出错"),
    "unclear": Text("Unclear", "不明确"),
    "too short": Text("Too short to tell", "时间太短，无法判断"),
}
_HEADLINE = Text("{verdict}: {because}", "{verdict}：{because}")
_ABOUT = Text(
    "{target} for {seconds}: {requests} requests, {failed} failed; {load}",
    "{target}，{seconds}：{requests} 个请求，{failed} 个失败；{load}",
)
_WITHIN = Text("{share} of the requests were within the SLO", "{share} 的请求满足 SLO")
_TRENDS = Text("The last third against the first", "后三分之一对比前三分之一")
_COLUMNS = (
    Text("metric", "指标"),
    Text("change", "变化"),
    Text("interval", "区间"),
    Text("worst window", "最差窗口"),
    Text("began", "开始于"),
)


def render_soak(found: Soak, format: str, lang: str = "en", width: int | None = None, color: bool = False) -> str:
    """``found`` in one of ``LOAD_FORMATS``. Raises UsageError for a format that there is not."""
    if format == "json":
        return to_json(found, lang)
    if format == "text":
        return printed(Group(*_text(found, lang)), width or 80, color)
    raise UsageError(f"{format!r} is not a format of soak", f"Known are {', '.join(LOAD_FORMATS)}.")


def _text(found: Soak, lang: str) -> list[RenderableType]:
    first = _HEADLINE.format(verdict=_VERDICTS[found.verdict], because=found.because).in_(lang)
    said = {"requests": str(found.requests), "failed": str(found.failed), "seconds": duration(found.seconds)}
    lines = [_ABOUT.format(target=found.target, load=found.load, **said).in_(lang)]
    if found.attainment is not None:
        lines.append(_WITHIN.format(share=figure(found.attainment, "ratio", lang)).in_(lang))
    parts: list[RenderableType] = [Line(clean(first), style="bold"), *(Line(clean(line)) for line in lines)]
    rows = tuple(_row(trend, lang) for trend in found.trends)
    columns = tuple(column.in_(lang) for column in _COLUMNS)
    parts += table_section(Table("trends", _TRENDS.in_(lang), columns, rows) if rows else None)
    return parts + findings_section(found.findings, lang)


def _row(trend: Trend, lang: str) -> tuple[str, ...]:
    entry = METRICS[trend.metric]
    moved = "–" if trend.mid is None else percent_text(trend.mid)
    interval = "–" if trend.low is None else bounds(trend.low, trend.high, entry.scale).in_(lang)
    at = "–" if trend.worst_at is None else clock(trend.worst_at)
    return (entry.label.in_(lang), moved, interval, figure(trend.worst, entry.unit, lang), at)
