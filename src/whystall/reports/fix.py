"""What the loop did, for a terminal: the outcome first, then what it was for, the change, its proof and its undoing."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table as Grid

from whystall.model.change import Change
from whystall.model.diagnosis import Diagnosis, Remedy
from whystall.model.fix import Fix, FixState, Rechecked
from whystall.model.prediction import Range
from whystall.model.text import Text
from whystall.model.trial import Effect, Trial
from whystall.trials.metrics import METRICS

from .cost import cost_lines
from .figures import change as moved
from .figures import figure
from .line import Line
from .printable import clean
from .similar import similar_line, tried_text
from .text import heading, printed
from .titles import cause_title
from .whatif_phrases import WHATIF_PHRASES

_STATES: dict[FixState, tuple[Text, str]] = {
    "healthy": (Text("HEALTHY", "健康"), "bold green"),
    "unknown": (Text("COULD NOT TELL", "无法判断"), "bold yellow"),
    "no_remedy": (Text("NOTHING CHANGED", "未做更改"), "bold yellow"),
    "planned": (Text("PLANNED, NOTHING CHANGED", "仅为计划，未做更改"), "bold yellow"),
    "written": (Text("PATCH WRITTEN", "补丁已写出"), "bold yellow"),
    "kept": (Text("FIXED", "已修复"), "bold green"),
    "rolled_back": (Text("TAKEN BACK", "已恢复原状"), "bold yellow"),
    "failed": (Text("FAILED", "失败"), "bold red"),
}
_TITLES = {
    "found": Text("What was found", "发现"),
    "alike": Text("Kept cases like this one", "相似的既往案例"),
    "rechecked": Text("Changes kept before, looked at again", "对先前保留的更改的复查"),
    "options": Text("What could be done", "可选办法"),
    "cost": Text("What it costs", "费用"),
    "change": Text("The change", "更改"),
    "undo": Text("Undone by", "撤销方式"),
    "proof": Text("The proof", "验证"),
    "after": Text("Looked at again", "再次观察"),
}
_CASE = Text("Kept as case {n}: whystall cases show {n}", "已记为案例 {n}：whystall cases show {n}")
_RECHECKED = Text("case {n} {text}", "案例 {n} {text}")
_LATENCY = Text("a whole request's time {change}", "单个请求总耗时 {change}")
_THROUGHPUT = Text("tokens a second {change}", "每秒 token 数 {change}")
_GONE = Text("healthy; gone: {causes}", "健康；已消失：{causes}")
_AND = Text(", ", "、")
_NOT_PREDICTED = Text("not predicted: {why}", "未预测：{why}")
_PREDICTED = Text("predicted: {effects}", "预测：{effects}")
_PAIRS = Text(
    "{verdict} after {pairs} pairs of blocks, {seconds:span} of the server's time, under {load}",
    "{pairs} 对区块后判定 {verdict}，占用服务器时间 {seconds:span}，负载为 {load}",
)
_SHOWN = ("ttft_mean", "ttft_p95", "itl_mean", "itl_p95", "e2e_mean", "e2e_p95", "tokens_per_s", "errors")


def render_fix(fix: Fix, lang: str, width: int = 80, color: bool = False, *, slo: bool = False) -> str:
    """The whole run as text; ``slo``: one was promised, so that GPUs at it are told."""
    answer = (*_answer(fix, lang), *_cost(fix, lang, slo=slo))
    head, tail = (printed(Group(*parts), width, color) for parts in (answer, _proof(fix, lang)))
    change = _change(fix.change, lang, width, color, undoing=fix.diagnosis is None) if fix.change else ""
    return head + change + (tail if tail.strip() else "")


def _answer(fix: Fix, lang: str) -> Iterator[RenderableType]:
    word, style = _STATES[fix.state]
    yield Line(f"{word.in_(lang)}: {clean(fix.because.in_(lang))}", style=style)
    yield from (Line(clean(line)) for line in _gains(fix, lang))
    if fix.diagnosis is not None:
        yield from _section("found", lang, [Line(clean(fix.diagnosis.headline.in_(lang)))])
        alike = similar_line(fix.diagnosis.similar, lang)
        if alike:
            yield from _section("alike", lang, [Line(clean(alike))])
    if fix.rechecked:
        yield from _section("rechecked", lang, [Line(clean(_rechecked(one, lang))) for one in fix.rechecked])
    if fix.suggestions:
        yield from _section("options", lang, [_option(remedy, lang) for remedy in fix.suggestions[:4]])


def _cost(fix: Fix, lang: str, *, slo: bool) -> Iterator[RenderableType]:
    if fix.cost is not None:
        yield from _section("cost", lang, [Line(line) for line in cost_lines(fix.cost, lang, slo=slo)])


def _proof(fix: Fix, lang: str) -> Iterator[RenderableType]:
    if fix.trial is not None:
        yield from _section("proof", lang, [Line(clean(_pairs(fix.trial, lang))), _effects(fix.trial, lang)])
    if fix.state == "kept" and fix.trial is not None:
        yield from _section("after", lang, [Line(clean(_after(fix.after, fix.diagnosis, lang)))])
    if fix.case:
        yield Line("")
        yield Line(_CASE.format(n=fix.case).in_(lang))


def _section(name: str, lang: str, parts: list[RenderableType]) -> Iterator[RenderableType]:
    yield heading(_TITLES[name].in_(lang))
    yield from (Padding(part, (0, 0, 0, 2)) for part in parts)


def _gains(fix: Fix, lang: str) -> Iterator[str]:
    if fix.improvement is None or fix.state != "kept":
        return
    for text, found in ((_LATENCY, fix.improvement.latency_percent), (_THROUGHPUT, fix.improvement.throughput_percent)):
        if found is not None:
            yield text.format(change=f"{found.mid:+.0f}% ({found.low:+.0f} … {found.high:+.0f})").in_(lang)


def _rechecked(one: Rechecked, lang: str) -> str:
    return _RECHECKED.format(n=one.case, text=one.text).in_(lang)


def _option(remedy: Remedy, lang: str) -> RenderableType:
    fared = tried_text(remedy.tried, lang)
    text = Line("· " + clean(remedy.text.in_(lang)) + (f" ({clean(fared)})" if fared else ""))
    if remedy.prediction is None:
        if remedy.not_predicted is None or not (
            remedy.change or remedy.assume
        ):  # of what people do that goes without saying
            return text
        why = _NOT_PREDICTED.format(why=remedy.not_predicted)
        return Group(text, Line("  " + clean(why.in_(lang)), style="dim"))
    effects = ", ".join(f"{_named(name, lang)} {_range(found)}" for name, found in list(remedy.effect.items())[:4])
    said = f"  {remedy.prediction.because.in_(lang)}"
    told = f"  {_PREDICTED.format(effects=effects).in_(lang)}" if effects else ""
    return Group(text, *(Line(clean(line), style="dim") for line in (said, told) if line))


def _named(metric: str, lang: str) -> str:
    return WHATIF_PHRASES[metric].in_(lang) if metric in WHATIF_PHRASES else clean(metric)


def _range(found: Range) -> str:
    return f"{moved(found.mid)} ({moved(found.low)} … {moved(found.high)})"


def _change(change: Change, lang: str, width: int, color: bool, *, undoing: bool) -> str:
    """Commands and patches are to be copied: they are never wrapped."""
    shown = (("undo", change.undo),) if undoing else (("change", change.text), ("undo", change.undo))
    text = ""
    for name, lines in shown:
        what = f" ({clean(change.in_words)})" if name == "change" else ""
        text += printed(heading(_TITLES[name].in_(lang) + what), width, color)
        text += "".join(f"  {clean(line)}\n" for line in lines.splitlines())
    return text


def _pairs(trial: Trial, lang: str) -> str:
    return _PAIRS.format(verdict=trial.verdict, pairs=trial.pairs, seconds=trial.seconds, load=trial.load).in_(lang)


def _effects(trial: Trial, lang: str) -> Grid:
    grid = Grid.grid(padding=(0, 2, 0, 0))
    for effect in trial.effects:
        if effect.metric in _SHOWN:
            label = METRICS[effect.metric].label.in_(lang)
            a, b = (figure(value, effect.unit, lang) for value in (effect.a, effect.b))
            mark = "→" if effect.metric != trial.primary else "⇒"
            grid.add_row(label, f"{a} {mark} {b}", _interval(effect))
    return grid


def _interval(effect: Effect) -> str:
    if effect.mid is None:
        return ""
    unit = " points" if effect.scale == "points" else "%"
    bounds = (
        "" if effect.low is None or effect.high is None else f" ({100 * effect.low:+.1f} … {100 * effect.high:+.1f})"
    )
    return f"{100 * effect.mid:+.1f}{unit}{bounds}"


def _after(after: Diagnosis | None, before: Diagnosis | None, lang: str) -> str:
    if after is not None:
        return after.headline.in_(lang)
    titles = [cause_title(cause.id, lang) for cause in before.causes[:2]] if before is not None else []
    return _GONE.format(causes=_AND.in_(lang).join(titles)).in_(lang)
