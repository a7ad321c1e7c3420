"""Findings as the pipeline makes them, written by hand: the reports' tests need no engine."""

from __future__ import annotations

import numpy as np

from whystall.model.diagnosis import (
    Cause,
    Coverage,
    Diagnosis,
    Engine,
    Evidence,
    GpuMemory,
    Identity,
    Impact,
    Limit,
    MemoryPart,
    Missing,
    Notice,
    Onset,
    Range,
    Remedy,
    RuledOut,
    Why,
    Window,
)
from whystall.model.text import Text
from whystall.model.timeline import Timeline, TimelineLine, TimelinePanel
from whystall.reports import Finding

START = 1_790_000_000.0
WINDOW = Window(start=START, end=START + 60, seconds=60.0, scrapes=61, interval_s=1.0)
ONSET = Onset(15.0, 13.0, 17.0)
GIB = 2.0**30


def bottleneck() -> Finding:
    """KV blocks run out after a burst, on an 8B model with 2,500 blocks."""
    return Finding(_bottleneck(), timeline())


def _bottleneck() -> Diagnosis:
    return Diagnosis(
        target="http://127.0.0.1:8000",
        engine=Engine(version="0.26.0", id="0", model="m"),
        window=WINDOW,
        verdict="bottleneck",
        headline=Text(
            "KV blocks are used up: 2,496 of 2,500 in use, 24 requests wait 12.8 s for room",
            "KV 块耗尽：2,500 块已用 2,496 块，24 个请求平均等待 12.8 s",
        ),
        causes=_causes(),
        ruled_out=(
            RuledOut("seat_cap", Text("running 27 of 256 seats", "运行 27，座位上限 256")),
            RuledOut("token_budget", Text("812 of 8,192 tokens a step", "每步 812 个 token，预算 8,192")),
            RuledOut("gpu_throttle", Text("SM clock 1,980 MHz throughout", "SM 时钟始终为 1,980 MHz")),
        ),
        evidence=_evidence(),
        remedies=_remedies(),
        anomalies=("queue.depth",),
        impact=Impact(
            ttft_p95_s=13.2,
            itl_p95_s=0.0104,
            queue_s=12.8,
            tokens_per_s=3712.0,
            errors_per_s=0.0,
            requests_affected_ratio=0.93,
            window_s=45.0,
        ),
        identities=(
            Identity("I1", 0.926, False),
            Identity("I2", 1.004, True),
            Identity("I10", None, None),
        ),
        coverage=_coverage(),
        limits=(
            Limit("num_gpu_blocks", 2500, "reported", "log"),
            Limit("max_num_seqs", 256, "default", "default"),
            Limit("max_num_batched_tokens", 8192, "inferred", "plateau"),
        ),
        memory=_memory(),
        warnings=(Notice("lost_scrapes", Text("2 of 61 scrapes failed; left out", "61 次抓取中有 2 次失败，已略去")),),
    )


def _causes() -> tuple[Cause, ...]:
    whys = (
        Why(
            Text("TTFT is high because requests queue", "TTFT 高，因为请求在排队"),
            ("ttft.queue_share",),
            True,
            Text("a slow prefill, which takes 0.3 s", "预填充慢（仅占 0.3 s）"),
        ),
        Why(
            Text("They queue because no KV block is free", "排队是因为没有空闲的 KV 块"),
            ("kv.saturated", "kv.preemptions"),
            True,
            Text("too few seats: 27 of 256 are taken", "座位不足：256 个座位只用了 27 个"),
        ),
        Why(
            Text("Blocks run out because prompts grew", "块耗尽是因为提示变长"),
            ("workload.prompt_ratio",),
            False,
        ),
    )
    return (
        Cause(
            "kv_capacity",
            0.93,
            "limit",
            Text(
                "The KV cache holds 27 requests of this size; 51 are here.", "KV 缓存可容纳 27 个此类请求，现有 51 个。"
            ),
            ONSET,
            whys,
            ("kv.saturated", "kv.preemptions"),
            ("workload.prompt_ratio",),
            Limit("num_gpu_blocks", 2500, "reported", "log"),
        ),
        Cause(
            "burst",
            0.81,
            "trigger",
            Text("Arrivals went from 0.9 to 4.1 requests/s.", "到达率从 0.9 升至 4.1 个请求/秒。"),
            Onset(14.0, 13.0, 15.0),
            evidence_for=("queue.depth",),
        ),
    )


def _evidence() -> tuple[Evidence, ...]:
    return (
        Evidence(
            "kv.saturated",
            0.99,
            "ratio",
            1.5,
            Text("of the time KV is over 97% and requests wait", "的时间内 KV 占用高于 97% 且有请求等待"),
            "metrics",
            ONSET,
            45.0,
        ),
        Evidence("kv.preemptions", 3.4, "1/s", 1.2, Text("preemptions", "抢占"), "metrics", None, 45.0),
        Evidence(
            "ttft.queue_share", 0.97, "ratio", 1.4, Text("of TTFT is queue", "的 TTFT 是排队"), "metrics", None, 45.0
        ),
        Evidence(
            "workload.prompt_ratio",
            1.02,
            "x",
            -1.1,
            Text("prompt length against before", "提示长度与之前之比"),
            "metrics",
        ),
        Evidence("queue.depth", 24.0, "req", 0.8, Text("requests wait", "在等待"), "metrics", ONSET, 45.0, True),
        Evidence("gpu.clock", None, "Hz", 0.0, Text("SM clock", "SM 时钟"), "gpu"),
    )


def _remedies() -> tuple[Remedy, ...]:
    return (
        Remedy(
            "kv_cache_fp8",
            Text("Keep the KV cache in fp8: --kv-cache-dtype fp8", "以 fp8 保存 KV 缓存：--kv-cache-dtype fp8"),
            {"--kv-cache-dtype": "fp8"},
            {"ttft_p95": Range(-0.6, -0.5, -0.3)},
            Text("slight loss of accuracy", "精度略有损失"),
            True,
            Text("remove the flag and restart", "移除该参数并重启"),
            "kv_capacity",
        ),
    )


def _coverage() -> Coverage:
    return Coverage(
        ("metrics", "gpu", "log", "config"),
        (
            Missing(
                "client",
                ("client_limited", "network"),
                Text("give requests.jsonl with --client", "用 --client 提供 requests.jsonl"),
            ),
        ),
        ("vllm:brand_new_total",),
    )


def _memory() -> GpuMemory:
    return GpuMemory(
        141 * GIB,
        (
            MemoryPart("weights", 13.5 * GIB, "reported"),
            MemoryPart("kv", 4.9 * GIB, "reported", Text("of 114 GiB available", "可用 114 GiB")),
            MemoryPart("graphs", 0.7 * GIB, "reported"),
            MemoryPart("other", 3.4 * GIB, "inferred"),
            MemoryPart("free", 118.5 * GIB, "reported"),
        ),
    )


def healthy() -> Finding:
    """A server that nobody has to wait for."""
    diagnosis = Diagnosis(
        target="http://127.0.0.1:8000",
        engine=Engine(version="0.26.0", model="m"),
        window=WINDOW,
        verdict="healthy",
        headline=Text("No limit binds: TTFT 44 ms, ITL 5 ms, nothing queued", "无约束：TTFT 44 ms，ITL 5 ms，无排队"),
        impact=Impact(ttft_p95_s=0.044, itl_p95_s=0.005, queue_s=0.0, tokens_per_s=1024.0),
        coverage=Coverage(("metrics",)),
    )
    return Finding(diagnosis, timeline())


def unknown() -> Finding:
    """One scrape only: no rate can be had."""
    diagnosis = Diagnosis(
        target="recordings/short",
        engine=Engine(),
        window=Window(START, START, 0.0, 1),
        verdict="unknown",
        headline=Text("One scrape is too little: a rate needs two", "只有一次抓取，数据太少：计算速率至少需要两次"),
        impact=Impact(ttft_p95_s=float("nan")),
        coverage=Coverage(
            ("metrics",),
            (Missing("gpu", ("gpu_throttle",), Text("run beside the server", "在服务器旁运行")),),
        ),
    )
    return Finding(diagnosis)


def several() -> Finding:
    """Two engines on one page; the outer diagnosis is the worse one's."""
    import msgspec

    worst = _bottleneck()
    fine = msgspec.structs.replace(healthy().diagnosis, engine=Engine(version="0.26.0", id="1", model="m"))
    outer = msgspec.structs.replace(worst, engines=(worst, fine))
    return Finding(outer, timeline(), (Finding(worst, timeline()), Finding(fine, timeline())))


def hostile(label: str) -> Finding:
    """``label`` wherever a server or a file can put text."""
    import msgspec

    text, finding = Text(label), bottleneck()
    diagnosis = finding.diagnosis
    changed = msgspec.structs.replace(
        diagnosis,
        target=label,
        engine=Engine(label, label, label, label),
        headline=text,
        causes=(msgspec.structs.replace(diagnosis.causes[0], id=label, summary=text),),
        ruled_out=(RuledOut(label, text),),
        limits=(Limit(label, 1.0, "reported", label),),
        warnings=(Notice(label, text),),
        coverage=Coverage(("metrics",), (Missing(label, (label,), text),), (label,)),
        identities=(Identity(label, 1.0, True, text),),
    )
    panel = TimelinePanel(label, text, label, (TimelineLine(label, text, np.arange(3.0), 2.0, text),))
    return Finding(changed, Timeline(START, np.arange(3.0), (panel,)))


def timeline() -> Timeline:
    """A minute in which the KV cache fills up at second 15."""
    rng = np.random.default_rng(7)
    t = np.arange(1.0, 61.0)
    rise = 1 / (1 + np.exp(-(t - 17)))
    noise = lambda size: rng.normal(0, size, t.size)  # noqa: E731
    running = np.round(8 + 19 * rise + noise(0.8))
    waiting = np.maximum(0, np.round(24 * rise + noise(1.2) - 1))
    kv = np.minimum(1, 0.31 + 0.68 * rise + noise(0.006))
    ttft = 0.09 + 12.8 * np.clip((t - 16) / 25, 0, 1) + np.abs(noise(0.05))
    tokens = 900 + 2800 * rise + noise(90)
    kv[40:42] = np.nan
    return Timeline(
        START,
        t,
        (
            TimelinePanel(
                "requests",
                Text("Requests", "请求"),
                "req",
                (
                    TimelineLine(
                        "running",
                        Text("running", "运行中"),
                        running,
                        256.0,
                        Text("max_num_seqs 256", "max_num_seqs 256"),
                    ),
                    TimelineLine("waiting", Text("waiting", "等待中"), waiting),
                ),
            ),
            TimelinePanel(
                "kv",
                Text("KV cache", "KV 缓存"),
                "ratio",
                (TimelineLine("kv_usage", Text("blocks in use", "已用块"), kv, 1.0, Text("2,500 blocks", "2,500 块")),),
            ),
            TimelinePanel(
                "latency",
                Text("Latency, mean", "平均延迟"),
                "s",
                (
                    TimelineLine("ttft", Text("TTFT", "TTFT"), ttft),
                    TimelineLine("queue", Text("queue", "排队"), np.maximum(0, ttft - 0.3)),
                ),
            ),
            TimelinePanel(
                "tokens",
                Text("Tokens", "Token"),
                "tok/s",
                (
                    TimelineLine("output", Text("output", "输出"), tokens),
                    TimelineLine("prompt", Text("prompt", "提示"), tokens * 2.1 + noise(200)),
                ),
            ),
        ),
    )
