"""Two results side by side, as a trial that proves nothing: one run each, one after the other."""

from __future__ import annotations

from collections.abc import Sequence

from whystall.model.diagnosis import Notice
from whystall.model.text import Text
from whystall.model.trial import Effect, Metric, Trial, TrialArm
from whystall.trials.metrics import METRICS, change, shown

from .result import BenchmarkResult

_NEAR = 0.05  # loads and lengths that differ by more are not the same load
_FULL_REQUESTS = 200


def compare_results(a: BenchmarkResult, b: BenchmarkResult, names: tuple[str, str], primary: Metric) -> Trial:
    """B against A. There is no interval and no verdict: what a machine drifts between two runs looks like an effect."""
    effects = tuple(effect for metric in METRICS if (effect := _effect(metric, a, b)) is not None)
    because = Text(
        "one run of each, one after the other: a drift of the machine looks the same as an effect; "
        "whystall trial --a URL --b URL interleaves them",
        "两边各跑一次且先后进行：机器自身的漂移与真实效果无法区分；请用 whystall trial --a URL --b URL 交错测试",
    )
    return Trial(
        a=TrialArm(names[0]),
        b=TrialArm(names[1]),
        verdict="INCONCLUSIVE",
        because=because,
        primary=primary,
        minimum_effect=METRICS[primary].least_effect,
        effects=effects,
        seconds=a.seconds + b.seconds,
        pairs=1,
        design="single",
        load=" / ".join(_load(result) for result in (a, b)),
        findings=tuple(_findings(a, b)),
    )


def _effect(metric: Metric, a: BenchmarkResult, b: BenchmarkResult) -> Effect | None:
    entry, before, after = METRICS[metric], a.figures.get(metric), b.figures.get(metric)
    if before is None and after is None:
        return None
    moved = change(entry, before, after)
    mid = shown(entry, moved) if moved is not None else None
    return Effect(metric, entry.unit, entry.scale, entry.better, None, mid, None, 1, before, after)


def _load(result: BenchmarkResult) -> str:
    how = f"{result.rate:g} requests/s" if result.rate else "as fast as it goes"
    if result.concurrency:
        how += f", at most {result.concurrency:g} at once"
    return f"{result.tool}: {result.requests} requests, {how}"


def _findings(a: BenchmarkResult, b: BenchmarkResult) -> list[Notice]:
    both: Sequence[BenchmarkResult] = (a, b)
    found: list[Notice] = []
    if a.tool != b.tool:
        found.append(_tools(a, b))
    if _differ(a.rate, b.rate) or _differ(a.concurrency, b.concurrency):
        text = Text(
            "the loads differ ({a}; {b}): what follows compares loads, not servers",
            "两边负载不同（{a}；{b}）：比较的是负载而非服务器",
        )
        found.append(Notice("different_loads", text.format(a=_load(a), b=_load(b))))
    if _differ(a.figures.get("output_tokens"), b.figures.get("output_tokens")):
        text = Text(
            "outputs were {a:.0f} and {b:.0f} tokens long on average: E2E and throughput differ by that alone; "
            "ignore_eos fixes the length",
            "平均输出长度为 {a:.0f} 与 {b:.0f} 个 token：仅此即令 E2E 与吞吐不同；ignore_eos 可固定长度",
        )
        found.append(Notice("output_lengths", text.format(a=a.figures["output_tokens"], b=b.figures["output_tokens"])))
    if any(result.rate is None for result in both):
        text = Text(
            "no rate was set: all went out as fast as answers came or at once, so queueing does not show as it would "
            "for users",
            "未设定速率：请求随回答返回或一次性全部发出，排队情况与真实用户不同",
        )
        found.append(Notice("closed_loop", text))
    return found + _thin(both)


def _tools(a: BenchmarkResult, b: BenchmarkResult) -> Notice:
    text = Text(
        "{a} and {b} define ITL differently (single gaps, or a request's mean): do not compare it",
        "{a} 与 {b} 对 ITL 的定义不同（单个间隔或请求均值）：请勿比较",
    )
    return Notice("different_tools", text.format(a=a.tool, b=b.tool))


def _thin(both: Sequence[BenchmarkResult]) -> list[Notice]:
    found: list[Notice] = []
    waited = max(result.waited_s for result in both)
    if waited > 0.005:
        text = Text(
            "requests waited {waited:.2f} s in the client on average, which its latencies do not count",
            "请求平均在客户端等待 {waited:.2f} 秒，其延迟未计入",
        )
        found.append(Notice("coordinated_omission", text.format(waited=waited)))
    fewest = min(result.requests for result in both)
    if fewest < _FULL_REQUESTS:
        text = Text(
            "only {n} requests: a p95 rests on {tail:.0f} of them", "仅 {n} 个请求：p95 只依据其中 {tail:.0f} 个"
        )
        found.append(Notice("few_requests", text.format(n=fewest, tail=max(fewest / 20, 1))))
    if any("ttft_p95" not in result.figures for result in both):
        text = Text(
            "there is no p95 in the file: vllm bench serve --metric-percentiles 50,95,99 writes it",
            "文件中没有 p95：vllm bench serve --metric-percentiles 50,95,99 会写入",
        )
        found.append(Notice("no_tail", text))
    return found


def _differ(a: float | None, b: float | None) -> bool:
    if a is None or b is None:
        return a is not b
    return abs(a - b) > _NEAR * max(abs(a), abs(b))
