"""Every level that a piece of evidence compares with, and why it is that level.

Levels come from a mechanism (what the scheduler does, how a gauge is taken, what a person feels) and not from a fit.
"""

from __future__ import annotations

import msgspec


class Threshold(msgspec.Struct, frozen=True):
    """``value`` in ``unit``, and the reason for it."""

    name: str
    value: float
    unit: str
    reason: str


_TABLE = (
    # What a user feels
    Threshold("felt_wait", 0.2, "s", "a wait under 200 ms before the first token is not felt (DESIGN, SLO)"),
    Threshold(
        "quick_itl",
        0.01,
        "s",
        "100 tokens a second, four times what is felt; launches cost a small model some milliseconds on any host",
    ),
    Threshold("felt_itl", 0.025, "s", "40 tokens a second read faster than anybody reads (DESIGN, SLO)"),
    Threshold(
        "felt_gap", 0.5, "s", "a stream that halts for half a second is noticed; 200 ms are a long prompt's step"
    ),
    Threshold("gain", 0.2, "ratio", "a limit is worth naming when lifting it gains a fifth (DESIGN, SLO)"),
    Threshold(
        "compared",
        0.07,
        "ratio",
        "two runs of one load differ by a few percent; who writes a comparison down felt more",
    ),
    Threshold("slow_factor", 2.0, "ratio", "an ITL over twice what the batch should take is a loss (DESIGN, SLO)"),
    Threshold("felt_errors", 0.01, "ratio", "one refused request in a hundred breaks a 99% availability goal"),
    # Episodes
    Threshold("episode_min", 5.0, "s", "a start-up wave of clients drains within some seconds; an incident stays"),
    Threshold(
        "late_nats",
        12.0,
        "nats",
        "first tokens later than usual by chance: once in 160,000 requests at most (CUSUM, method 2.2)",
    ),
    Threshold("stall_min", 2.0, "s", "no step of a healthy engine lasts that long, a full prefill step included"),
    Threshold(
        "late_min",
        20.0,
        "s",
        "several requests' lives: the worst seconds of a minute are no state, and a slow one stays",
    ),
    Threshold(
        "late_share",
        1 / 3,
        "ratio",
        "late tokens that have ended are a state of the server where they weigh on a good part of the window, not on a wave",
    ),
    Threshold("episode_gap", 10.0, "s", "waves of long prompts come every few seconds: they are one episode"),
    Threshold("episode_tokens", 30.0, "tokens", "a mean of fewer inter-token latencies is one request's bad luck"),
    Threshold(
        "hang_min", 30.0, "s", "longer than any step, compilation of a kernel or collection pause seen (vllm.md 9.4)"
    ),
    Threshold("baseline_min", 5.0, "s", "shorter pasts hold too few requests for a mean"),
    Threshold("baseline_requests", 5.0, "req", "means of fewer requests are anecdotes"),
    # The way to other hosts
    Threshold(
        "link_slower", 2.0, "ratio", "another route or a queue in the way at least doubles a round trip; noise does not"
    ),
    Threshold("link_felt", 0.005, "s", "a probe of a busy host is late by a millisecond or two of that host's own"),
    Threshold(
        "link_lost", 0.02, "ratio", "TCP repairs single losses: a probe that fails got nothing through for seconds"
    ),
    # Saturation
    Threshold(
        "kv_wall", 0.97, "ratio", "the last partial block of each sequence keeps a full pool at 97 to 100% (method 2.1)"
    ),
    Threshold("seats_full", 0.98, "ratio", "gauges are taken after finished requests left (method 2.1)"),
    Threshold("budget_full", 0.9, "ratio", "decode tokens are reserved first and the last chunk of a prompt is a rest"),
    Threshold("binds_share", 0.3, "ratio", "a limit that binds a third of the queued time decides the wait"),
    Threshold("queue_grown", 8.0, "req", "a queue that grew by fewer is one wave of arrivals"),
    Threshold("compute_bound", 2.0, "ratio", "at twice the roofline's ridge a GEMM is within 10% of its peak"),
    Threshold("ridge_default", 300.0, "tokens", "highest ridge of the data-centre GPUs in evidence/devices.py"),
    Threshold("mfu_ceiling", 0.4, "ratio", "bf16 prefill reaches 40 to 60% of the data sheet's peak"),
    Threshold("power_full", 0.95, "ratio", "at its power limit a GPU has no clock left to give"),
    Threshold(
        "prefill_busy", 0.7, "ratio", "a server with 70% of its time in prefill has a queue at any burst (M/G/1)"
    ),
    # Latency
    Threshold(
        "interference", 2.0, "ratio", "mean ITL over twice the decode-only ITL: half of it is other people's prompts"
    ),
    Threshold(
        "gpu_idle", 0.5, "ratio", "GPU_UTIL counts any kernel, so under half with work at hand is the host's doing"
    ),
    Threshold(
        "stepping", 0.8, "ratio", "steps that fill less of the time have pauses between requests, which is demand"
    ),
    Threshold("front_requests", 10.0, "req", "a difference of three means needs some requests under each"),
    # Steps against their batch
    Threshold(
        "residual_rows", 8.0, "rows", "a line through fewer rows of twenty steps fits anything (calibration's least)"
    ),
    Threshold("residual_effect", 0.04, "log", "the least effect of method 2.2: below it versions of one kernel differ"),
    Threshold(
        "sheet_error", 0.4, "log", "data sheets and a model's size tell a step's time within half (fidelity runs)"
    ),
    Threshold(
        "pause_share", 0.5, "ratio", "where half of the lost time lies in single long gaps, steps are not the matter"
    ),
    Threshold(
        "line_doubt",
        0.25,
        "ratio",
        "a line that is off by more tells a prompt's part of a step from the batch's no more",
    ),
    Threshold("shape_spread", 0.15, "ratio", "batches that differ by less cannot tell what an excess grows with"),
    Threshold(
        "warm_up", 300.0, "s", "compilation, graphs, caches and connections are there after some minutes of load"
    ),
    Threshold("settle_min", 30.0, "s", "three incidents' gaps: what has not come back by then has ended"),
    Threshold("settle_times", 4.0, "times", "fewer pauses lie in one half of a window by chance once in eight"),
    # Trends
    Threshold("forecast_far", 600.0, "s", "a slope of half a minute says nothing of more than ten minutes on"),
    Threshold("forecast_over", 30.0, "s", "longer than a wave of arrivals, shorter than what an operator must know"),
    Threshold("forecast_scrapes", 6.0, "scrapes", "fewer points always lie near some line"),
    # Processes
    Threshold("core_full", 0.9, "cores", "one Python process has one core under the GIL"),
    Threshold("throttled", 0.05, "ratio", "CFS pauses of 5% stretch a step that they hit by tens of milliseconds"),
    Threshold("run_delay", 0.2, "ratio", "processes that wait a fifth of the time for a core lose that fifth"),
    Threshold("host_busy", 0.95, "ratio", "no core is free"),
    # Workload
    Threshold("shift", 1.5, "ratio", "means of a few hundred requests wander by less than half"),
    Threshold("hit_loss", 0.3, "ratio", "a lost third of the cache hits is at least half again as much to compute"),
    Threshold("giant", 8.0, "ratio", "a prompt of eight median ones fills the steps of many others"),
    Threshold(
        "giant_share", 0.4, "ratio", "a prompt of two fifths of the KV pool fits in seldom, and holds up all others"
    ),
    Threshold(
        "victims", 2.0, "req", "a shortage of prefill delays the giants themselves; two others each stand behind"
    ),
    Threshold("bursty", 4.0, "ratio", "variance over mean of Poisson arrivals is 1; 4 is bursts of several"),
    Threshold("idle_running", 2.0, "req", "one or two sequences use a batch engine as a single-stream one"),
    Threshold(
        "draft_cost", 0.1, "ratio", "a drafter of a tenth of the model's size; prompt look-up costs less, a model more"
    ),
    # GPU
    Threshold(
        "clock_low", 0.85, "ratio", "clocks dither by some percent; below 85% of the highest one work slows visibly"
    ),
    Threshold("throttle_share", 0.2, "ratio", "a fifth of the time throttled costs what is worth naming"),
    Threshold("memory_busy", 0.65, "ratio", "decoding on healthy H200 reads 75 to 85% of the time, prefill under 30%"),
    Threshold("power_fell", 0.15, "ratio", "at equal work and full use a board's draw is steady within some percent"),
    Threshold("rank_apart", 0.1, "ratio", "ranks of one model do equal work; their boards differ by some percent"),
    Threshold("cap_lowered", 0.85, "ratio", "a limit under 85% of the board's rating was set by somebody"),
)

THRESHOLDS = {threshold.name: threshold for threshold in _TABLE}


def level(name: str) -> float:
    """The value of a threshold; KeyError for a name that the table lacks."""
    return THRESHOLDS[name].value


def ramp(x: float, zero: float, full: float) -> float:
    """Evidence strength: 0 at ``zero``, 1 at ``full``, linear, clipped to [-1.5, 1.5]; ``full`` may be below ``zero``."""
    return max(-1.5, min(1.5, (x - zero) / (full - zero)))
