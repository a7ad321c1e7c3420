"""What serving costs, in lines for a terminal."""

from __future__ import annotations

from whystall.model.cost import Cost, Saving
from whystall.model.text import Text

from .printable import clean

_NOW = Text(
    "now: {per} per million tokens, {hour} an hour ({gpus} GPU at {price})",
    "当前：每百万 token {per}，每小时 {hour}（{gpus} 个 GPU，单价 {price}）",
)
_IDLE = Text(
    "now: {hour} an hour ({gpus} GPU at {price}), and no tokens",
    "当前：每小时 {hour}（{gpus} 个 GPU，单价 {price}），没有 token",
)
_WASTED = Text("the bottleneck wastes {wasted} of that an hour", "其中瓶颈每小时浪费 {wasted}")
_SLO = Text("GPUs needed for this load at the SLO: {needed}", "在 SLO 下承载此负载所需 GPU：{needed}")
_MORE = Text("more than {most}", "超过 {most}")
_SAVING = Text(
    "· {text}: {per} per million tokens, saves {saves} ({low} … {high})",
    "· {text}：每百万 token {per}，节省 {saves}（{low} … {high}）",
)
_NEEDS = Text("; {needed} GPU at the SLO", "；SLO 下需 {needed} 个 GPU")


def cost_lines(cost: Cost, lang: str, *, slo: bool) -> list[str]:
    """Cost now, waste, GPUs at the SLO where there is one (``slo``), and a line for each remedy."""
    values = {"hour": money(cost.per_hour), "gpus": cost.gpus, "price": money(cost.gpu_hour)}
    now = _NOW if cost.per_million_tokens is not None else _IDLE
    lines = [now.format(per=money(cost.per_million_tokens or 0.0), **values)]
    if cost.wasted_per_hour:
        lines.append(_WASTED.format(wasted=money(cost.wasted_per_hour)))
    if slo:
        lines.append(_SLO.format(needed=_needed(cost.gpus_at_slo, cost)))
    return [line.in_(lang) for line in lines] + [_saving(one, cost, lang, slo=slo) for one in cost.savings]


def _saving(one: Saving, cost: Cost, lang: str, *, slo: bool) -> str:
    saves = one.saves_per_million_tokens
    ends = {"saves": money(saves.mid), "low": money(saves.low), "high": money(saves.high)}
    line = _SAVING.format(text=one.text, per=money(one.per_million_tokens.mid), **ends).in_(lang)
    needed = _NEEDS.format(needed=_needed(one.gpus_at_slo, cost)).in_(lang) if slo and one.gpus_at_slo else ""
    return clean(line + needed)


def _needed(gpus: int | None, cost: Cost) -> Text:
    return Text(str(gpus)) if gpus is not None else _MORE.format(most=cost.most_gpus_tried)


def money(amount: float) -> str:
    """Two decimals, or three figures where it is less than one."""
    return f"{amount:,.2f}" if abs(amount) >= 1 else f"{amount:.3g}"
