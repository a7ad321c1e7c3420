"""One request's way through tracing and profile, on a terminal."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.text import Text as Line

from whystall.model.text import Text
from whystall.profiles.request_timeline import RequestTimeline
from whystall.profiles.spans import PHASE_NAMES

from .printable import clean
from .text import printed
from .trace_sheet import Sheet, ns, share
from .trace_text import sheet_parts

_STEPS = 40
BAR = 40


def render_request(found: RequestTimeline, lang: str, width: int = 80, color: bool = False) -> str:
    """Waterfall, steps and kernels."""
    request = found.request
    about = f"{request.request_id or request.trace_id} · {ns(request.e2e_ns)}"
    parts: list[RenderableType] = [Line(clean(found.headline.in_(lang)), style="bold"), Line(clean(about), style="dim")]
    for sheet in request_sheets(found, lang):
        parts += sheet_parts(sheet, width)
    return printed(Group(*parts), width, color)


def request_sheets(found: RequestTimeline, lang: str) -> list[Sheet]:
    """The request's phases, the steps it was in, and what those ran."""
    joined = [_steps(found, lang), _families(found, lang)] if found.steps else []
    return [_waterfall(found, lang), *joined]


def _waterfall(found: RequestTimeline, lang: str) -> Sheet:
    request, at, rows = found.request, 0, []
    total = max(request.e2e_ns, 1)
    for phase in ("frontend", "queue", "prefill", "decode", "other"):
        duration = getattr(request, f"{phase}_ns")
        if duration is None:
            continue
        before, length = at * BAR // total, max(duration * BAR // total, 1 if duration else 0)
        bar = ("·" * before + "█" * length)[:BAR].ljust(BAR, "·")
        rows.append((PHASE_NAMES[phase].in_(lang), ns(at), ns(duration), share(duration / total), bar))
        at += duration
    header = (Text("phase", "阶段"), Text("from", "起点"), Text("time", "时间"), Text("share", "占比"), Text("", ""))
    title = Text("Waterfall", "瀑布图").in_(lang)
    return Sheet("waterfall", title, tuple(cell.in_(lang) for cell in header), tuple(rows), "lrrrl")


def _steps(found: RequestTimeline, lang: str) -> Sheet:
    rows = tuple(
        (
            str(entry.step.index),
            entry.step.phase,
            ns(entry.start_ns),
            ns(entry.step.host_ns),
            ns(entry.step.busy_ns),
            f"{entry.step.kernels:,}",
            entry.during,
        )
        for entry in found.steps[:_STEPS]
    )
    header = (
        Text("step", "步骤"),
        Text("phase", "阶段"),
        Text("after arrival", "到达后"),
        Text("host", "主机"),
        Text("GPU busy", "GPU 忙"),
        Text("kernels", "内核"),
        Text("request in", "请求处于"),
    )
    more = len(found.steps) - _STEPS
    note = Text("and {n} more steps", "另有 {n} 个步骤").format(n=more).in_(lang) if more > 0 else ""
    title = Text("Steps it was in", "参与的步骤").in_(lang)
    return Sheet("steps", title, tuple(cell.in_(lang) for cell in header), rows, "rlrrrrl", note)


def _families(found: RequestTimeline, lang: str) -> Sheet:
    rows = tuple((row.title.in_(lang), ns(row.ns), share(row.share), f"{row.count:,}") for row in found.families)
    header = (Text("class", "类别"), Text("time", "时间"), Text("share", "占比"), Text("count", "次数"))
    title = Text("What those steps ran", "这些步骤运行的内容").in_(lang)
    return Sheet("families", title, tuple(cell.in_(lang) for cell in header), rows, "lrrr")
