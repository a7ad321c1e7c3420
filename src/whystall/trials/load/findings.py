"""What is wrong with a measurement rather than with a server: the mistakes that benchmarks make, looked for in ours."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from whystall.model.diagnosis import Notice
from whystall.model.text import Text
from whystall.trials.blocks import BlockResult, ClientUse

from .plan import LoadPlan

# method.md section 3: above these the client is what is measured.
_LAG_S, _CPU_RATIO = 0.005, 0.7
_FAST = 1.5  # emulated or replayed time, not a clock that is a little off
_FAILING = 0.01  # of the requests
_TOO_LONG = Text(
    " (http 400: most often a prompt with its answer is longer than --max-model-len)",
    "（http 400：多为提示加回答超过 --max-model-len）",
)
TAIL_REQUESTS = 20  # below it a p95 is the largest value


def load_findings(plan: LoadPlan, a: Sequence[BlockResult], b: Sequence[BlockResult], head_s: float) -> list[Notice]:
    """The findings on the blocks of both arms; ``b`` may be empty where there is one server."""
    found = [*_client([r.client for r in (*a, *b) if r.client is not None]), *_closed(plan, a, b)]
    names = (Text("A", "A"), Text("B", "B")) if b else (Text("the server", "服务器"), Text(""))
    for name, results in zip(names, (a, b), strict=True):
        found += [*_above_capacity(plan, name, results), *_failing(name, results, head_s)]
    fewest = min((int((r.intended_s >= head_s).sum()) for r in (*a, *b)), default=TAIL_REQUESTS)
    if fewest < TAIL_REQUESTS:
        text = Text(
            "a block had only {n} requests: its p95 is nearly its largest value; give longer blocks or a higher rate",
            "有的区块只有 {n} 个请求：其 p95 近乎最大值；请加长区块或提高速率",
        )
        found.append(Notice("few_requests", text.format(n=fewest)))
    return found


def _client(uses: Sequence[ClientUse]) -> list[Notice]:
    lags = np.concatenate([use.lag_s for use in uses]) if uses else np.zeros(0)
    found = []
    if len(lags) and (late := float(np.quantile(lags, 0.99))) > _LAG_S:
        text = Text(
            "our own requests went out up to {lag:.0f} ms late (p99): latencies are counted from when they should have "
            "gone out, so this client is part of them; send from a machine with more free cores",
            "本端请求最迟晚发 {lag:.0f} 毫秒（p99）：延迟从应发时刻算起，因而含有本端的耗时；请换一台空闲核更多的机器",
        )
        found.append(Notice("client_lag", text.format(lag=late * 1e3)))
    cpu = [use.cpu_ratio for use in uses if use.cpu_ratio is not None]
    if cpu and (busy := float(np.median(cpu))) > _CPU_RATIO:
        text = Text(
            "sending took {busy:.0%} of a core, and one is all that this client can use: it is near its own limit",
            "发送负载占用了 {busy:.0%} 个核，而本端最多用一个核：已接近自身上限",
        )
        found.append(Notice("client_cpu", text.format(busy=busy)))
    if (speed := max((use.speed for use in uses), default=1.0)) > _FAST:
        text = Text(
            "the servers' clock runs {speed:g} times as fast as ours: our own delays count as often, in TTFT and ITL most",
            "服务器时钟比本端快 {speed:g} 倍：本端的延迟也被放大同样倍数，TTFT 与 ITL 受影响最大",
        )
        found.append(Notice("fast_clock", text.format(speed=speed)))
    if left_out := sum(use.left_out for use in uses):
        text = Text(
            "{n} requests were not sent because {most} were open: the load was less than asked for",
            "{n} 个请求因已有 {most} 个未完成而未发送：实际负载低于要求",
        )
        found.append(Notice("client_ceiling", text.format(n=left_out, most=max(use.most_open for use in uses))))
    return found


def _closed(plan: LoadPlan, a: Sequence[BlockResult], b: Sequence[BlockResult]) -> list[Notice]:
    if not plan.clients:
        return []
    rates = [sum(r.requests for r in rs) / sum(r.seconds for r in rs) for rs in (a, b) if rs]
    text = Text(
        "closed loop: {n} clients wait for their answers, so a slower server is asked less ({rates} requests/s) and "
        "queueing hardly shows; --rate sends at a fixed rate",
        "闭环负载：{n} 个客户端等待回答，服务器变慢时请求也变少（{rates} 请求/秒），排队难以显现；--rate 以固定速率发送",
    )
    shown = " / ".join(f"{rate:.3g}" for rate in rates)
    return [Notice("closed_loop", text.format(n=plan.clients, rates=shown))]


def _failing(name: Text, results: Sequence[BlockResult], head_s: float) -> list[Notice]:
    """Figures are of the requests that were answered: prompts too long for a model make a server look quick."""
    late = [r.failed[r.intended_s >= head_s] for r in results]
    failed, requests = sum(int(rows.sum()) for rows in late), sum(len(rows) for rows in late)
    if not requests or failed / requests < _FAILING:
        return []
    why = next((r.error for r in results if r.error), "")
    text = Text(
        "{share:.0%} of the requests to {name} failed{why}: latencies are of the others",
        "发往 {name} 的请求有 {share:.0%} 失败{why}：延迟只统计其余请求",
    )
    reason = _TOO_LONG if why == "http 400" else Text(f" ({why})", f"（{why}）") if why else Text("", "")
    return [Notice("failing", text.format(share=failed / requests, name=name, why=reason))]


def _above_capacity(plan: LoadPlan, name: Text, results: Sequence[BlockResult]) -> list[Notice]:
    """An open loop above what the server can do: the queue grows for as long as one sends."""
    cut = sum(int(r.cut.sum()) for r in results)
    requests = sum(r.requests for r in results)
    if plan.clients or not requests or cut / requests < 0.01:
        return []
    text = Text(
        "{share:.0%} of the requests to {name} were not answered by the end of their block's waiting time: the load is "
        "above what it can serve, so latency says how long was sent",
        "发往 {name} 的请求有 {share:.0%} 在区块等待时间结束前仍未完成：负载超过其能力，延迟只反映发送时长",
    )
    return [Notice("above_capacity", text.format(share=cut / requests, name=name))]
