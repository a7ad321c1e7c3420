"""Which resource is full: KV blocks, seats, token budget, prefill capacity, and what the queue does."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from whystall.model.diagnosis import Evidence
from whystall.model.text import Text

from .bounds import bounds
from .devices import device
from .quotient import quotient
from .scene import Scene
from .thresholds import level, ramp
from .wording import span


def saturation(scene: Scene) -> Iterator[Evidence]:
    """Evidence of use, queueing and refusal of each resource of the scheduler."""
    yield from _queue(scene)
    yield from _kv(scene)
    yield from _preemptions(scene)
    yield from _seats(scene)
    yield from _budget(scene)
    prefill = [*_prefill_busy(scene), *_ceiling(scene)]
    yield from prefill
    yield from _compute_full(scene, prefill)
    yield from _budget_binds(scene, prefill)
    yield from _refusals(scene)


def _queue(scene: Scene) -> Iterator[Evidence]:
    state = scene.state
    waiting = scene.mean(state.waiting_end)
    if not math.isfinite(waiting):
        return
    delay = scene.queue_delay_s
    if not math.isfinite(delay):
        return
    text = Text(
        "a request that arrives waits {delay} for admission; {waiting:~2} waiting on average",
        "新到的请求等待准入 {delay}；平均 {waiting:~2} 个在等待",
    )
    strength = ramp(math.log(max(delay, 1e-3)), math.log(level("felt_wait")), math.log(1.0))
    yield scene.evidence("queue.delay", delay, "s", strength, text.format(delay=span(delay), waiting=waiting))
    yield from _growth(scene)


def _growth(scene: Scene) -> Iterator[Evidence]:
    """Slope of the queue against the rate at which requests are admitted."""
    state = scene.state
    inside = scene.inside & np.isfinite(state.waiting_end)
    admitted = scene.rate(state.first_tokens)
    if inside.sum() < 4 or not admitted > 0:
        return
    slope = float(np.polyfit(state.t_end[inside], state.waiting_end[inside], 1)[0])
    share, grown = slope / admitted, slope * scene.seconds
    text = Text(
        "the queue {grows} while {admitted:~3} requests a second are admitted",
        "队列{grows}，每秒准入 {admitted:~3} 个请求",
    )
    strength = min(ramp(share, 0.05, 0.3), ramp(grown, level("queue_grown") / 2, level("queue_grown")))
    yield scene.evidence(
        "queue.growing", slope, "req/s", strength, text.format(grows=_grows(slope, admitted), admitted=admitted)
    )


def _grows(slope: float, admitted: float) -> Text:
    if abs(slope) < 0.005 * admitted:
        return Text("keeps its length", "长度不变")
    way = Text("grows by {by:~2} a second", "每秒增长 {by:~2} 个") if slope > 0 else None
    way = way or Text("shrinks by {by:~2} a second", "每秒缩短 {by:~2} 个")
    return way.format(by=abs(slope))


def _kv(scene: Scene) -> Iterator[Evidence]:
    """Free blocks against a typical prompt: a prompt is admitted only when it fits whole (vllm.md 9.4, trap)."""
    state = scene.state
    pressed = scene.queued | (scene.inside & (state.preemptions > 0))
    usage = scene.mean(state.kv_usage_end, pressed if pressed.any() else None)
    if not math.isfinite(usage):
        return
    share = scene.share(kv_binds(scene), pressed) if pressed.any() else 0.0
    high = float(np.nanmax(state.kv_usage_end[scene.inside]))
    text = Text(
        "KV blocks are too few for the next prompt in {share:.0%} of the time with a queue (usage {usage:.0%} on average, "
        "{high:.0%} at most)",
        "有排队的时间里，{share:.0%} 的时间剩余 KV 块放不下下一个提示（平均使用率 {usage:.0%}，最高 {high:.0%}）",
    )
    if not pressed.any():
        text = Text(
            "no scrape shows a queue; KV blocks are {usage:.0%} used on average, {high:.0%} at most",
            "没有一次采样出现排队；KV 块平均使用率 {usage:.0%}，最高 {high:.0%}",
        )
    strength = min(ramp(share, level("binds_share") / 2, 2 * level("binds_share")), _weight_of_waits(scene))
    yield scene.evidence("kv.saturated", share, "ratio", strength, text.format(share=share, usage=usage, high=high))


def _weight_of_waits(scene: Scene) -> float:
    """How much a limit on admission can explain of what hurts: it costs nobody anything while nobody waits for it.

    What binds for less than a fifth of the incident can end less than a fifth of the loss: half weight there, full at twice.
    """
    if not scene.focus.hurts:
        return 1.5
    pushed_out = scene.share(np.asarray(scene.state.preemptions > 0), scene.inside)
    return ramp(scene.focus.kinds.get("queue", 0.0) + np.nan_to_num(pushed_out), 0.0, 2 * level("gain"))


def kv_binds(scene: Scene) -> np.ndarray:
    """Intervals whose free blocks hold no further typical prompt, or in which a request was preempted."""
    state = scene.state
    blocks, size = state.limit_value("num_gpu_blocks"), state.limit_value("block_size")
    usage = np.fmax(state.kv_usage_end, state.kv_usage_start)
    full = usage >= level("kv_wall")
    prompt = scene.prompt_tokens
    if not math.isfinite(prompt):
        prompt = scene.ratio(state.prompt_length.sum, state.prompt_length.count, state.valid)
    if all(math.isfinite(x) for x in (blocks, size, prompt)) and size > 0:
        with np.errstate(invalid="ignore"):
            full |= (1 - usage) * (blocks - 1) < math.ceil(prompt / size)
    return np.asarray(full | (state.preemptions > 0))


def _preemptions(scene: Scene) -> Iterator[Evidence]:
    rate = scene.rate(scene.state.preemptions)
    if not math.isfinite(rate):
        return
    text = Text("{rate:one preemption|# preemptions} a second", "每秒 {rate:~2} 次抢占")
    text = text if rate > 0 else Text("no preemptions", "没有抢占")
    # log1p(20 rate): one preemption in twenty seconds is noise, one in a second thrash (method 2.1).
    strength = min(1.5, math.log1p(20 * rate) / math.log1p(20)) if rate > 0 else -0.5
    yield scene.evidence("kv.preemptions", rate, "1/s", strength, text.format(rate=rate))


def _seats(scene: Scene) -> Iterator[Evidence]:
    state = scene.state
    cap = state.limit_value("max_num_seqs")
    if not math.isfinite(cap) or not np.isfinite(state.running_end[scene.inside]).any():
        return
    running = scene.mean(state.running_end)
    at_cap = np.fmax(state.running_end, state.running_start) >= level("seats_full") * cap
    free = ~kv_binds(scene)
    share = scene.share(at_cap & free, scene.queued) if scene.queued.any() else 0.0
    text = Text(
        "running is {running:.0f} of {cap:.0f} seats; full while others wait in {share:.0%} of the time with a queue",
        "运行 {running:.0f} 个，席位共 {cap:.0f} 个；有排队的时间里 {share:.0%} 的时间席位已满",
    )
    if not scene.queued.any():
        text = Text(
            "running is {running:.0f} of {cap:.0f} seats, and no scrape shows a queue",
            "运行 {running:.0f} 个，席位共 {cap:.0f} 个；没有一次采样出现排队",
        )
    strength = min(ramp(share, level("binds_share") / 2, 2 * level("binds_share")), _weight_of_waits(scene))
    yield scene.evidence("seats.full", share, "ratio", strength, text.format(running=running, cap=cap, share=share))


def tokens_a_step(scene: Scene) -> float:
    """Prompt and output tokens over steps: what a step holds on average.

    Over the whole incident, since the page counts a prompt at its last chunk and chunks in flight as nothing.
    """
    state = scene.state
    work = np.nan_to_num(state.computed_tokens) + np.nan_to_num(state.generation_tokens)
    at = scene.queued if scene.queued.sum() >= 3 else scene.inside
    return scene.ratio(work, state.steps, at)


def _budget(scene: Scene) -> Iterator[Evidence]:
    budget, tokens = scene.state.limit_value("max_num_batched_tokens"), tokens_a_step(scene)
    if not math.isfinite(budget) or not math.isfinite(tokens):
        return
    fill = tokens / budget
    text = Text(
        "a step holds {tokens:.0f} of {budget:.0f} budgeted tokens on average",
        "每步平均 {tokens:.0f} 个 token，预算为 {budget:.0f}",
    )
    strength = ramp(fill, level("budget_full") - 0.3, level("budget_full"))
    yield scene.evidence("budget.full", fill, "ratio", strength, text.format(tokens=tokens, budget=budget))


def _budget_binds(scene: Scene, prefill: list[Evidence]) -> Iterator[Evidence]:
    """Steps are full while the device could do more: seen only where both are so, its absence speaks for nobody."""
    full = next(_budget(scene), None)
    ceiling = next((e.strength for e in prefill if e.id == "prefill.ceiling"), 0.0)
    if full is not None and min(full.strength, 0.9 - ceiling) > 0:
        strength = min(full.strength, 0.9 - ceiling)
        yield scene.evidence("budget.binds", full.value or 0.0, "ratio", strength, full.text)


def _prefill_busy(scene: Scene) -> Iterator[Evidence]:
    share = prefill_share(scene)
    if not math.isfinite(share):
        return
    rate = scene.rate(scene.state.computed_tokens)
    text = Text(
        "prefill takes about {share:.0%} of the engine's time ({rate:.0f} prompt tokens computed a second)",
        "预填充约占引擎时间的 {share:.0%}（每秒计算 {rate:.0f} 个提示 token）",
    )
    # Steps that became slower at equal work make prompts take longer: at the speed of before they would take less.
    own = share / scene.slowdown if scene.surely_slower else share
    if own < share:
        text = Text(
            "{text}; at the speed of before it would take {own:.0%}", "{text}；以此前的速度将占 {own:.0%}"
        ).format(text=text, own=own)
    strength = ramp(own, level("prefill_busy") - 0.25, level("prefill_busy") + 0.1)
    yield scene.evidence("prefill.busy", share, "ratio", strength, text.format(share=share, rate=rate))


def prefill_share(scene: Scene) -> float:
    """Share of the incident's time that steps take beyond what their decoding alone would.

    Decoding alone takes ``steps x decode-only ITL``. Where no step without prompts was seen, steps over the roofline's
    ridge take time in proportion to their tokens, so the prompts' share of the tokens is theirs of the time; smaller
    steps take about as long without their prompts, and the histogram's usual ITL stands for those.
    """
    state = scene.state
    active = scene.inside & (np.fmax(state.running_start, state.running_end) > 0)
    seconds, steps = float(state.dt[active].sum()), float(np.nansum(state.steps[active]))
    prompt, output = np.nansum(state.computed_tokens[active]), np.nansum(state.generation_tokens[active])
    if not seconds > 0 or not prompt > 0 or not steps > 0:
        return float("nan")
    alone = scene.decode_itl_s * scene.slowdown  # steps that are slower at equal work are so without prompts, too
    if not math.isfinite(alone):
        if (prompt + output) / steps >= ridge(scene):
            return min(float(prompt / (prompt + output)), _arithmetic_share(scene))
        alone = scene.usual_itl_s * scene.slowdown
    busy = float(np.clip(1 - steps * alone / seconds, 0, 1))
    return min(busy * seconds / max(scene.seconds, 1e-9), _arithmetic_share(scene))


def _arithmetic_share(scene: Scene) -> float:
    """Time that the prompts' FLOPs take at most, at the least share of the device's peak; 1 where either is not known.

    A grown batch or context slows decoding, too: without this bound that would count as prefill.
    """
    peak, each = _flops(scene)
    if not (peak and each):
        return 1.0
    return min(1.0, scene.rate(scene.state.computed_tokens) * each / (level("mfu_ceiling") * peak))


def _flops(scene: Scene) -> tuple[float | None, float | None]:
    """The device's dense bf16 peak, and FLOPs a token: twice the parameters, at two bytes each of the weights."""
    configuration, gpu = scene.state.configuration, scene.state.gpu
    sheet = device(gpu.name if gpu is not None else configuration.gpu_name)
    if sheet is None or not configuration.weights_bytes or configuration.quantization:
        return None, None
    return sheet.flops, 2 * configuration.weights_bytes / 2


def ridge(scene: Scene) -> float:
    """Tokens a step from which on compute binds: the device's where it is known, else the highest of the table."""
    gpu = scene.state.gpu
    sheet = device(gpu.name if gpu is not None else scene.state.configuration.gpu_name)
    return sheet.ridge_tokens if sheet else level("ridge_default")


def _ceiling(scene: Scene) -> Iterator[Evidence]:
    """Is prefill as fast as the device can: by FLOP/s, by the batch against the ridge, by power, by step times.

    Not where the GPU is seen to be idle for most of the time: whatever a step holds, the device has time left.
    """
    found = [x for x in (_mfu(scene), _over_ridge(scene), _power(scene), _step_growth(scene)) if x is not None]
    if not found:
        return
    strength, value, unit, text, source = max(found, key=lambda f: f[0])
    util = scene.mean(scene.state.gpu.util_ratio) if scene.state.gpu is not None else math.nan
    if util < level("gpu_idle"):
        strength = min(strength, ramp(util, level("gpu_idle"), 1.0))
        text = _BUT_IDLE.format(text=text, idle=1 - util)
    yield scene.evidence("prefill.ceiling", value, unit, strength, text, source)  # type: ignore[arg-type]


def _compute_full(scene: Scene, prefill: list[Evidence]) -> Iterator[Evidence]:
    """Prefill fills the time and is as fast as the device can: then no block, seat or budget more would help."""
    if len(prefill) < 2:
        return
    busy, ceiling = prefill
    share = busy.value or 0.0
    text = Text(
        "the device has {rest:.0%} of its time left beside prefill; {ceiling}",
        "除预填充外设备还剩 {rest:.0%} 的时间；{ceiling}",
    )
    strength = min(busy.strength, ceiling.strength)
    yield scene.evidence("compute.full", share, "ratio", strength, text.format(rest=1 - share, ceiling=ceiling.text))


_Reading = tuple[float, float, str, Text, str]
_BUT_IDLE = Text("{text}; but the GPU is idle {idle:.0%} of the time", "{text}；但 GPU 有 {idle:.0%} 的时间空闲")


def _mfu(scene: Scene) -> _Reading | None:
    peak, each = _flops(scene)
    if not (peak and each):
        return None
    mfu = (scene.rate(scene.state.computed_tokens) + scene.rate(scene.state.generation_tokens)) * each / peak
    if not math.isfinite(mfu):
        return None
    text = Text(
        "the model's arithmetic runs at {mfu:.0%} of the GPU's bf16 peak (prefill at full speed: {full:.0%} or more)",
        "模型计算达到 GPU bf16 峰值的 {mfu:.0%}（预填充全速时为 {full:.0%} 以上）",
    )
    full = level("mfu_ceiling")
    return ramp(mfu, 0.2, full), mfu, "ratio", text.format(mfu=mfu, full=full), "log"


def _over_ridge(scene: Scene) -> _Reading | None:
    tokens, knee = tokens_a_step(scene), ridge(scene)
    if not math.isfinite(tokens) or scene.state.configuration.device == "cpu":
        return None
    text = Text(
        "steps hold {tokens:.0f} tokens, {times:~2} times the roofline's ridge of {ridge:.0f}, above which compute binds",
        "每步 {tokens:.0f} 个 token，是屋顶线拐点 {ridge:.0f} 的 {times:~2} 倍；超过拐点则受算力限制",
    )
    times = tokens / knee
    strength = ramp(times, 0.5, level("compute_bound"))
    return strength, times, "ratio", text.format(tokens=tokens, times=times, ridge=knee), "metrics"


def _power(scene: Scene) -> _Reading | None:
    gpu = scene.state.gpu
    if gpu is None:
        return None
    load = quotient(scene.mean(gpu.power_w), scene.mean(gpu.power_limit_w))
    if not math.isfinite(load):
        return None
    text = Text("the GPU draws {load:.0%} of its power limit", "GPU 功耗达到功率上限的 {load:.0%}")
    return ramp(load, 0.85, level("power_full") + 0.02), load, "ratio", text.format(load=load), "gpu"


def _step_growth(scene: Scene) -> _Reading | None:
    """Steps with prompts against decode-only ones: where they take several times as long, tokens and not launches cost."""
    state, alone = scene.state, scene.decode_itl_s
    tokens, budget = tokens_a_step(scene), state.limit_value("max_num_batched_tokens")
    at = scene.inside & (state.computed_tokens > state.generation_tokens)
    steps = float(np.nansum(state.steps[at]))
    if not (alone > 0 and steps > 0 and tokens > 0):
        return None
    seconds = float(state.dt[at].sum()) / max(steps, float(np.nansum(state.computed_tokens[at])) / max(budget, 1.0))
    times = seconds / alone
    if not math.isfinite(times):
        return None
    text = Text(
        "a step with prompts takes {times:~2} times a decode-only one",
        "含提示的步耗时是纯解码步的 {times:~2} 倍",
    )
    return ramp(times, 1.5, 4.0), times, "ratio", text.format(times=times), "metrics"


def _refusals(scene: Scene) -> Iterator[Evidence]:
    state = scene.state
    bound = max(bounds(scene.slo).errors_ratio, 1e-4)  # a promise of no error at all still needs a scale
    refused, finished = float(np.nansum(state.rejections[scene.inside])), float(np.nansum(state.finished[scene.inside]))
    if np.isfinite(state.rejections).any():
        share = refused / max(refused + finished, 1.0)
        text = Text(
            "the server refused {refused:one request|# requests}, {share:.0%} of those it answered, by its queue limit",
            "服务器因队列上限拒绝了 {refused:.0f} 个请求，占已答复的 {share:.0%}",
        )
        text = (
            text
            if refused
            else Text("the server refused no request by its queue limit", "服务器没有因队列上限拒绝请求")
        )
        strength = ramp(share, bound / 2, 2 * bound) if refused else -1.0
        yield scene.evidence("queue.refused", share, "ratio", strength, text.format(refused=refused, share=share))
    errors = float(np.nansum(state.http_errors[scene.inside]))
    if errors > 0:
        share = errors / max(float(np.nansum(state.http_responses[scene.inside])), 1.0)
        text = Text("{share:.0%} of the HTTP answers were 5xx", "{share:.0%} 的 HTTP 响应为 5xx")
        strength = ramp(share, bound / 2, 2 * bound)
        yield scene.evidence("http.errors", share, "ratio", strength, text.format(share=share))
