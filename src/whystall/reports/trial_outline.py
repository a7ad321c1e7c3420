"""A trial -> its three lines and its tables, in one language."""

from __future__ import annotations

from whystall.model.text import Text
from whystall.model.trial import Block, Effect, Guard, GuardVerdict, Metric, Trial, TrialVerdict
from whystall.trials.metrics import METRICS
from whystall.trials.rules import bounds, percent_text

from .figures import change, clock, duration, figure, number
from .outline import Table
from .printable import clean

VERDICTS: dict[TrialVerdict, Text] = {
    "WIN": Text("WIN", "胜出 (WIN)"),
    "HARM": Text("HARM", "有害 (HARM)"),
    "FUTILE": Text("FUTILE", "无差别 (FUTILE)"),
    "INCONCLUSIVE": Text("INCONCLUSIVE", "未能确定 (INCONCLUSIVE)"),
}
_GUARDS: dict[GuardVerdict, Text] = {
    "holds": Text("holds", "成立"),
    "harmed": Text("harmed", "受损"),
    "open": Text("not shown", "未证明"),
    "outweighed": Text("outweighed", "得大于失"),
}
_COUNTED: dict[GuardVerdict, Text] = {
    "holds": Text("{n} hold", "{n} 项成立"),
    "harmed": Text("{n} harmed ({names})", "{n} 项受损（{names}）"),
    "open": Text("{n} not shown ({names})", "{n} 项未证明（{names}）"),
    "outweighed": Text("{n} outweighed ({names})", "{n} 项得大于失（{names}）"),
}
_HEADLINE = Text("{verdict}: {because}", "{verdict}：{because}")
_COMPARED = Text(
    "B {b} against A {a}: {pairs} pairs of {block} blocks, {seconds} in all; load: {load}",
    "B {b} 对比 A {a}：{pairs} 对区块，每块 {block}，共 {seconds}；负载：{load}",
)
_SINGLE = Text("B {b} against A {a}: one run each, {load}", "B {b} 对比 A {a}：各一次运行，{load}")
_GUARD_LINE = Text("Guards: {counts}", "护栏指标：{counts}")
_NO_GUARDS = Text("No guard could be looked at", "没有可检查的护栏指标")
_TOKENS = Text(
    "Greedy tokens: {identical} of {prompts} prompts got the same answer; on average the first {ratio} of it",
    "贪心解码：{prompts} 个提示中 {identical} 个回答完全一致；平均前 {ratio} 一致",
)
_TITLES = {
    "effects": Text("Effects of B", "B 的效果"),
    "guards": Text("Guards", "护栏指标"),
    "findings": Text("About the measurement", "关于测量本身"),
    "warm_up": Text("Thrown away as warm-up", "作为预热丢弃"),
    "blocks": Text("Blocks", "区块"),
}
_COLUMNS = {
    "effects": (
        Text("metric", "指标"),
        Text("A"),
        Text("B"),
        Text("change", "变化"),
        Text("interval", "区间"),
        Text("pairs", "对数"),
    ),
    "guards": (Text("metric", "指标"), Text("worse by", "变差"), Text("margin", "容限"), Text("verdict", "结论")),
    "findings": (Text("finding", "发现"), Text("what it means", "含义")),
    "warm_up": (Text("arm", "分支"), Text("time", "时间"), Text("requests", "请求"), Text("settled", "已稳定")),
    "blocks": (
        Text("pair", "对"),
        Text("arm", "分支"),
        Text("began", "开始"),
        Text("requests", "请求"),
        Text("failed", "失败"),
    ),
}
_YES_NO = (Text("no", "否"), Text("yes", "是"))
_POINTS = Text("{n} points", "{n} 个百分点")
_FLOOR = Text("{margin} over {floor}", "超过 {floor} 后 {margin}")


def headline(trial: Trial) -> Text:
    """The verdict and its reason."""
    return _HEADLINE.format(verdict=VERDICTS[trial.verdict], because=trial.because)


def answer_lines(trial: Trial, lang: str) -> list[str]:
    """Verdict, what was compared, the guards; a fourth line where tokens were compared."""
    said = {"a": clean(_named(trial, "a")), "b": clean(_named(trial, "b")), "load": clean(trial.load)}
    said |= {"pairs": str(trial.pairs), "block": duration(trial.block_seconds), "seconds": duration(trial.seconds)}
    compared = _SINGLE if trial.design == "single" else _COMPARED
    lines = [headline(trial).in_(lang), compared.format(**said).in_(lang), _guard_line(trial, lang)]
    if trial.token_agreement is not None:
        seen = trial.token_agreement
        ratio = f"{seen.leading_ratio:.0%}"
        lines.append(_TOKENS.format(identical=seen.identical, prompts=seen.prompts, ratio=ratio).in_(lang))
    return [clean(line) for line in lines]


def trial_tables(trial: Trial, lang: str) -> list[Table]:
    """All tables that have a row; blocks last, as they are many."""
    rows = {
        "effects": tuple(_effect(effect, lang) for effect in trial.effects),
        "guards": tuple(_guard(guard, lang) for guard in trial.guards),
        "findings": tuple((finding.id, clean(finding.text.in_(lang))) for finding in trial.findings),
        "warm_up": tuple(
            (one.arm.upper(), duration(one.seconds), number(one.requests), _YES_NO[one.settled].in_(lang))
            for one in trial.warm_up
        ),
        "blocks": tuple(_block(block, trial.primary, lang) for block in trial.blocks),
    }
    return [Table(id, _TITLES[id].in_(lang), _columns(id, trial, lang), found) for id, found in rows.items() if found]


def _columns(id: str, trial: Trial, lang: str) -> tuple[str, ...]:
    columns = tuple(column.in_(lang) for column in _COLUMNS[id])
    return (*columns, METRICS[trial.primary].label.in_(lang)) if id == "blocks" else columns


def _named(trial: Trial, arm: str) -> str:
    side = trial.a if arm == "a" else trial.b
    flags = " ".join(f"{flag} {value}".strip() for flag, value in side.change.items())
    return f"{side.target} {flags}".strip()


def _guard_line(trial: Trial, lang: str) -> str:
    if not trial.guards:
        return _NO_GUARDS.in_(lang)
    counts = []
    for verdict, text in _COUNTED.items():
        found = [METRICS[guard.metric].label.in_(lang) for guard in trial.guards if guard.verdict == verdict]
        if found:
            counts.append(text.format(n=len(found), names=", ".join(found)).in_(lang))
    return _GUARD_LINE.format(counts=", ".join(counts)).in_(lang)


def _effect(effect: Effect, lang: str) -> tuple[str, ...]:
    interval = bounds(effect.low, effect.high, effect.scale).in_(lang) if effect.low is not None else "–"
    moved = "–" if effect.mid is None else _moved(effect)
    a, b = (figure(value, effect.unit, lang) for value in (effect.a, effect.b))
    return (METRICS[effect.metric].label.in_(lang), a, b, moved, interval, str(effect.pairs))


def _moved(effect: Effect) -> str:
    assert effect.mid is not None
    return f"{100 * effect.mid:+z.1f}" if effect.scale == "points" else percent_text(effect.mid)


def _guard(guard: Guard, lang: str) -> tuple[str, ...]:
    points = _POINTS.format(n=f"{100 * guard.margin:.1f}").in_(lang)
    margin = points if guard.scale == "points" else change(guard.margin).lstrip("+")
    if guard.floor is not None:
        margin = _FLOOR.format(margin=margin, floor=duration(guard.floor)).in_(lang)
    worse = bounds(guard.harm_low, guard.harm_high, guard.scale).in_(lang) if guard.harm_low is not None else "–"
    return (METRICS[guard.metric].label.in_(lang), worse, margin, _GUARDS[guard.verdict].in_(lang))


def _block(block: Block, primary: Metric, lang: str) -> tuple[str, ...]:
    shown = figure(block.figures.get(primary), METRICS[primary].unit, lang)
    return (str(block.pair + 1), block.arm.upper(), clock(block.started), str(block.requests), str(block.failed), shown)
