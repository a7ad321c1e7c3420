"""Where a request's time goes: other people's prompts, the front end, the gap between steps."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from whystall.model.diagnosis import Evidence
from whystall.model.text import Text
from whystall.state.histograms import count_above, count_of, mean_of

from .front_end import front_residual
from .pace import prompts_share
from .pauses import pauses
from .saturation import prefill_share
from .scene import Bools, Scene
from .smoothing import runs
from .standstill import near_standstill
from .symptoms import quick, stepping_ratio
from .thresholds import level, ramp
from .wording import span


def latency(scene: Scene) -> Iterator[Evidence]:
    """Evidence of inflated inter-token latency, front-end time and gaps between steps."""
    yield from _interference(scene)
    yield from _tail(scene)
    yield from _first_tokens(scene)
    yield from _front(scene)
    yield from _host_gap(scene)


def _interference(scene: Scene) -> Iterator[Evidence]:
    """Mean ITL of the incident against the decode-only one, where the excess goes with prompts."""
    state = scene.state
    # Steps that are slower at equal work are so without prompts, too.
    itl, alone = mean_of(state.itl, scene.inside), scene.batch_itl_s * scene.slowdown
    if not (itl > 0 and math.isfinite(alone) and alone > 0):
        return
    times, share = itl / alone, prompt_excess_share(scene, alone)
    text = Text(
        "mean ITL is {itl:~3} ms, {times:as|# times} the {alone:~3} ms of steps without prompts; "
        "{share:.0%} of the lost time falls together with prompts",
        "平均 ITL {itl:~3} 毫秒，{times:与无提示步相同|是无提示步的 # 倍}（{alone:~3} 毫秒）；"
        "损失时间的 {share:.0%} 与提示同时发生",
    )
    if times <= 1:
        text = Text(
            "mean ITL is {itl:~3} ms, no more than the {alone:~3} ms of steps without prompts",
            "平均 ITL {itl:~3} 毫秒，不高于无提示步的 {alone:~3} 毫秒",
        )
    # What a prompt's step takes is known from the healthy past: prompts make no gap as long as these.
    if scene.before.any() and (paused := pauses(scene)) is not None:
        share = min(share, 1 - paused.share)
    if not _more_prompts(scene):
        share = 0.0  # what was computed before without harm does not harm now
    share = min(share, _at_later_cost(scene, alone))
    slowed = scene.paced is not None and scene.paced.changed
    felt = (_itl_while_late(scene) if slowed else itl) > level("felt_itl") and _not_alone(scene)
    # A fifth of the time lost is just worth naming (a link asks for 0.3); at twice the ITL it is certain.
    worth, certain = -math.log(1 - level("gain")), math.log(level("interference"))
    could = min(times, _without_prefill(scene))
    strength = max(-1.5, min(1.5, 0.3 + 0.7 * ramp(math.log(could), worth, certain)))
    part = min(share, _explained(scene, itl, could) if scene.surely_slower else 1.0)
    if felt:
        strength = min(strength, ramp(part, 0.2, 0.5))
    else:
        strength = ramp(math.log(could), worth, certain) if _newcomers_wait(scene) and share >= 0.5 else -0.3
    values = {"itl": 1e3 * itl, "times": times, "alone": 1e3 * alone, "share": share}
    yield scene.evidence("itl.mixed_steps", times, "ratio", strength, text.format(**values))


def _itl_while_late(scene: Scene) -> float:
    """Mean ITL of the part of the incident in which tokens are late, where that is worth naming, else of all of it.

    Steps that slowed are late from twice what they took before on, felt or not: what prompts add is felt in that part.
    """
    total, count = (np.nan_to_num(column[scene.inside]) for column in (scene.state.itl.sum, scene.state.itl.count))
    seen = count > 0
    late = scene.most_of(total[seen] / count[seen], "itl")
    return float(total[seen][late].sum() / count[seen][late].sum()) if late.any() else math.nan


def _newcomers_wait(scene: Scene) -> bool:
    """Whether first tokens come late: who arrives waits for the step under way, and prompts of others make that one long."""
    return scene.focus.kinds.get("ttft", 0.0) >= level("gain") and _not_alone(scene)


def _without_prefill(scene: Scene) -> float:
    """Times by which tokens would come sooner if no time at all went into prompts; infinite where that is not known.

    Prompts cannot cost more than the time that they take: the rest of a longer ITL is the batch's, the host's or the GPU's.
    """
    share = prefill_share(scene)
    if scene.surely_slower:  # what steps became slower by is in the time, and not in what the prompts took before
        share = float(np.fmin(share, prompts_share(scene.paced, scene.inside)))
    return 1 / (1 - share) if math.isfinite(share) and share < 1 else math.inf


def _explained(scene: Scene, itl: float, could: float) -> float:
    """The part of a longer ITL that goes with the prompts, in logs; ``could`` is what their time makes of it.

    Where steps became slower at equal work, that is the other part. Against the healthy past, where there is one: prompts
    that tokens waited for there as well are no news.
    """
    usual, then = scene.batch_itl_s, 1.0
    past = mean_of(scene.state.itl, scene.before) if scene.before.any() else float("nan")
    share = prompts_share(scene.paced, scene.before)
    if past > 0 and share < 1:
        usual, then = past, 1 / (1 - max(share, 0.0))
    times, more = itl / usual, could / then
    return math.log(more) / math.log(times) if times > 1 and more > 1 else float(times <= 1)


def _not_alone(scene: Scene) -> bool:
    """Whether there is somebody whose prompts could come between: two requests at once."""
    state = scene.state
    most = np.fmax(state.running_start, state.running_end)[scene.inside] + np.nan_to_num(
        state.waiting_end[scene.inside]
    )
    return bool(np.nanmax(most, initial=0.0) > 1.5) or not np.isfinite(most).any()


def _more_prompts(scene: Scene) -> bool:
    """Whether the incident has more or longer prompts to compute than its healthy past, or else what came after it.

    True where neither was seen: what is computed without harm at another time does not harm by itself.
    Where the same load was measured without some other thing and was better, its prompts are no explanation.
    """
    state = scene.state
    if any(contrast.feature and (1 - level("gain")) * contrast.ratio >= 1 for contrast in state.contrasts):
        return False
    calm = scene.before if scene.before.any() else scene.focus.after
    return not calm.any() or max(_rate_and_length(scene, calm)) > 1 + level("gain")


def _rate_and_length(scene: Scene, calm: Bools) -> tuple[float, float]:
    """The incident's prompt tokens a second, and those of one prompt, in times of those in the ``calm`` part."""
    state = scene.state
    rate = scene.rate(state.computed_tokens) / max(scene.rate(state.computed_tokens, calm), 1e-9)
    each = scene.ratio(state.computed_tokens, state.first_tokens)
    usual = scene.ratio(state.computed_tokens, state.first_tokens, calm)
    return rate, each / usual if usual > 0 else 0.0


def _at_later_cost(scene: Scene, alone: float) -> float:
    """The part of the time lost that the incident's prompts take at what they cost after it; 1 where that cannot be told.

    For losses from the start on, with prompts as they are afterwards: what a start brings makes the first ones dear.
    """
    state, after = scene.state, scene.focus.after
    if scene.before.any() or not after.any() or max(_rate_and_length(scene, after)) > level("shift"):
        return 1.0
    busy = (state.running_start > 0) & (state.running_end > 0)
    lost = np.nan_to_num(state.dt - np.nan_to_num(state.steps) * alone).clip(min=0)
    tokens = np.nan_to_num(state.computed_tokens)
    now, then = (float(lost[where].sum()) for where in (busy & scene.inside, busy & after))
    each = then / max(float(tokens[busy & after].sum()), 1.0)
    return min(each * float(tokens[scene.inside].sum()) / now, 1.0) if now > 0 else 1.0


def prompt_excess_share(scene: Scene, alone: float) -> float:
    """Of the time lost to slow tokens, the share in intervals in or just after which a prompt finished its prefill.

    A prompt is counted when its last chunk is done, so a stretch of silence belongs to the prompts counted at its end.
    """
    state = scene.state
    lost = np.where(scene.inside, np.nan_to_num(state.dt - np.nan_to_num(state.steps) * alone), 0.0).clip(min=0)
    prompts = np.nan_to_num(state.computed_tokens) > np.nan_to_num(state.generation_tokens) * 0.5
    growing = (state.running_end > state.running_start) | (state.kv_usage_end > state.kv_usage_start + 1e-3)
    silent = ~(np.nan_to_num(state.generation_tokens) > 0)
    near = prompts | np.concatenate((prompts[1:], [False])) | (silent & growing)
    # A stretch of silence is one event: it belongs to prompts when any part of it does.
    for start, stop in runs(silent & scene.inside):
        near[start:stop] = near[start : min(stop + 1, len(near))].any()
    return float(lost[near].sum() / lost.sum()) if lost.sum() > 0 else 0.0


def _tail(scene: Scene) -> Iterator[Evidence]:
    """Tokens that came after more than a second: single freezes that a mean over many tokens hides."""
    histogram = scene.state.itl
    total = count_of(histogram, scene.inside)
    if not total > 0 or not len(histogram.bounds):
        return
    frozen = count_above(histogram, 1.0, scene.inside)
    finished = max(float(np.nansum(scene.state.finished[scene.inside])), 1.0)
    text = Text(
        "{frozen:one token|# tokens} came over a second after the one before, {each:~2} for each finished request",
        "{frozen:.0f} 个 token 距前一个超过 1 秒，每个完成的请求 {each:~2} 个",
    )
    if not frozen:
        text = Text("no token came over a second after the one before", "没有 token 距前一个超过 1 秒")
    each = frozen / finished
    yield scene.evidence("itl.frozen", each, "1/req", ramp(each, 0.05, 0.5), text.format(frozen=frozen, each=each))


def _first_tokens(scene: Scene) -> Iterator[Evidence]:
    """``ttft.grown``: mean TTFT of the incident against that of its healthy past; for people, and weighed by no cause."""
    now, before = mean_of(scene.state.ttft, scene.inside), mean_of(scene.state.ttft, scene.before)
    few = min(count_of(scene.state.ttft, where) for where in (scene.inside, scene.before))
    if few < level("baseline_requests") or not before > 0:
        return
    times = now / before
    text = Text(
        "first tokens take {now:span}, {times:~2} times the {before:span} before",
        "首 token 需 {now:span}，是此前 {before:span}的 {times:~2} 倍",
    )
    felt = now > level("felt_wait")
    strength = ramp(math.log(max(times, 1e-9)), -math.log(1 - level("gain")), math.log(level("slow_factor")))
    words = text.format(now=now, times=times, before=before)
    yield scene.evidence("ttft.grown", times, "ratio", strength if felt else min(strength, 0.0), words)


def _front(scene: Scene) -> Iterator[Evidence]:
    residual = front_residual(scene.state)[scene.inside]
    seen = residual[np.isfinite(residual)]
    if not len(seen):
        return
    # What comes and goes is measured while it is there: the median of that part, where it fills what is worth naming.
    part = scene.focus.kinds.get("front", 0.0)
    value = max(float(np.quantile(seen, 1 - part / 2 if part >= level("gain") else 0.5)), 0.0)
    text = Text(
        "{value} of the time to first token are neither queue, prefill nor the running step",
        "首 token 时间中有 {value} 既非排队、预填充，也非等待当前步",
    )
    strength = ramp(value, level("felt_wait") / 2, level("felt_wait"))
    yield scene.evidence("front.residual", value, "s", strength, text.format(value=span(value)))


def _host_gap(scene: Scene) -> Iterator[Evidence]:
    gpu = scene.state.gpu
    if gpu is None:
        return
    running = scene.inside & (scene.state.running_start > 0) & (scene.state.running_end > 0)
    running &= ~near_standstill(scene.state)
    util, stepping = scene.mean(gpu.util_ratio, running), scene.mean(stepping_ratio(scene.state), running)
    step = scene.ratio(scene.state.dt, scene.state.steps, running)
    if not all(map(math.isfinite, (util, stepping, step))):
        return
    text = Text(
        "the GPU is idle {idle:.0%} of the time while requests run and a step takes {step:~3} ms",
        "有请求运行时 GPU 仍有 {idle:.0%} 的时间空闲，每步 {step:~3} 毫秒",
    )
    itl = mean_of(scene.state.itl, running)
    strength = _idle_strength(util, itl) if stepping > level("stepping") else -0.5
    if itl <= quick(scene.state):
        strength = min(strength, 0.0)  # tokens that come at once are no loss, however idle the GPU is
    yield scene.evidence(
        "step.host_gap", 1 - util, "ratio", strength, text.format(idle=1 - util, step=1e3 * step), "gpu"
    )


def _idle_strength(util: float, itl: float) -> float:
    """Where tokens are late, a gain of a fifth is worth naming (0.3), as in ``idle_lost``; else an idle half is."""
    worth = 1 - level("gain")
    if not itl > level("felt_itl"):
        return ramp(util, 0.75, level("gpu_idle") - 0.1)
    return 0.3 + (0.7 * ramp(util, worth, level("gpu_idle")) if util <= worth else -ramp(util, worth, 1.0))
