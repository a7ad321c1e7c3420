"""What was asked of the server, and whether it changed: lengths, rate, bursts, shared prefixes, demand."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from whystall.model.diagnosis import Evidence, Onset
from whystall.model.text import Text
from whystall.state.histograms import count_above, mean_of, quantile_of

from . import figures
from .change import onset_of
from .scene import Bools, Floats, Scene
from .smoothing import SMOOTH_S, smooth_rate
from .standstill import frozen_tokens, stalled
from .thresholds import level, ramp

# A client that opens its pool does so within seconds.
_SURGE_S = 3.0


def workload(scene: Scene) -> Iterator[Evidence]:
    """Evidence on the workload and its change against this server's own healthy past."""
    yield from _longer_prompts(scene)
    yield from _longer_outputs(scene)
    yield from _more_requests(scene)
    yield from _crowd(scene)
    yield from _more_work_came(scene)
    yield from _surge(scene)
    yield from _prefix(scene)
    yield from _bursts(scene)
    yield from _giants(scene)
    yield from _demand(scene)
    yield from _closed_loop(scene)


def _longer_prompts(scene: Scene) -> Iterator[Evidence]:
    state = scene.state
    past = scene.ratio(state.prompt_tokens, state.first_tokens, scene.before) if scene.before.any() else math.nan
    before = scene.before_or("baseline.prompts", past)
    text = Text(
        "prompts are {after:.0f} tokens long, {times:as before|# times those before}",
        "提示长 {after:.0f} 个 token，{times:与此前相同|是此前的 # 倍}",
    )
    pair = (state.prompt_tokens, state.first_tokens)
    yield from _shift(scene, "prompts.longer", before, scene.prompt_tokens, text, pair)


def _longer_outputs(scene: Scene) -> Iterator[Evidence]:
    state = scene.state
    past = mean_of(state.output_length, scene.before) if scene.before.any() else math.nan
    before = scene.before_or("baseline.outputs", past)
    after = mean_of(state.output_length, scene.inside)
    text = Text(
        "outputs are {after:.0f} tokens long, {times:as before|# times those before}",
        "输出长 {after:.0f} 个 token，{times:与此前相同|是此前的 # 倍}",
    )
    pair = (state.output_length.sum, state.output_length.count)
    yield from _shift(scene, "outputs.longer", before, after, text, pair)


def _more_requests(scene: Scene) -> Iterator[Evidence]:
    arrived = arrivals(scene)
    past = scene.rate(arrived, scene.before) if scene.before.any() else math.nan
    before = scene.before_or("baseline.requests", past)
    text = Text(
        "{after:~3} requests arrive a second, {times:as before|# times those before}",
        "每秒到达 {after:~3} 个请求，{times:与此前相同|是此前的 # 倍}",
    )
    # Arrivals of a closed loop come in waves, in which a change point would be chance: the incident's onset stands for it.
    yield from _shift(scene, "requests.more", before, scene.rate(arrived), text, scene.focus.onset)


def _crowd(scene: Scene) -> Iterator[Evidence]:
    """More requests than the front end takes: those that it holds are on no page, the client's file tells when they came.

    By the ten seconds in which most were sent: of those that came later many had not ended when the file did.
    """
    state, view = scene.state, scene.state.client
    if view is None or scene.focus.kinds.get("front", 0.0) < level("gain") or not scene.before.any():
        return
    before, rates = scene.rate(view.sent, scene.before), smooth_rate(state, view.sent)[scene.inside]
    most = float(np.nanmax(rates, initial=0.0))
    if not (before > 0 and most > 0):
        return
    # The most of many is high by chance: two standard errors of a Poisson count less.
    times = most / before * max(1 - 2 / math.sqrt(most * SMOOTH_S), 0.0)
    text = Text(
        "{times:~2} times as many requests as before come to a front end that is behind",
        "到达落后的前端的请求是此前的 {times:~2} 倍",
    )
    strength = ramp(math.log(max(times, 1e-9)), math.log(level("shift")) / 2, 1.5 * math.log(level("shift")))
    yield scene.evidence("requests.crowd", times, "ratio", strength, text.format(times=times), "client")


def _more_work_came(scene: Scene) -> Iterator[Evidence]:
    """Tokens that arrive a second against the healthy past: where no more come and a queue grows, the server got slower."""
    state, before = scene.state, scene.before
    if not before.any():
        return
    more = _times(scene.rate(arrivals(scene)), scene.rate(arrivals(scene), before))
    longer = _times(
        scene.prompt_tokens + mean_of(state.output_length, scene.inside),
        scene.ratio(state.prompt_tokens, state.first_tokens, before) + mean_of(state.output_length, before),
    )
    times = more * (longer if math.isfinite(longer) else 1.0)  # nobody finished: lengths as before
    if not times > 0:
        return
    text = Text(
        "{times:as much work as before|# times the work of before} arrives: {more:as many requests|# times as many requests}",
        "到达的工作量{times:与此前相同|是此前的 # 倍}：请求数{more:相同|为 # 倍}",
    )
    # One-sided: more work is what many causes bring, no more of it is what only a slower server explains.
    strength = min(ramp(math.log(times), math.log(level("shift")) / 2, math.log(level("shift"))), 0.3)
    yield scene.evidence("work.more", times, "ratio", strength, text.format(times=times, more=more))


def _times(after: float, before: float) -> float:
    return after / before if before > 0 else math.nan


def _surge(scene: Scene) -> Iterator[Evidence]:
    """Requests that came within some seconds of the onset, against as many seconds of the healthy past."""
    state, onset = scene.state, scene.focus.onset
    if onset is None or not scene.before.any():
        return
    near = (state.t_end > onset.low) & (state.t_start < onset.high + _SURGE_S)
    arrived, seconds = arrivals(scene), float(state.dt[near].sum())
    usual = scene.rate(arrived, scene.before) * seconds
    came = float(np.nansum(arrived[near]))
    if not usual > 0:
        return
    times = came / usual
    text = Text(
        "{came:one request|# requests} came within {seconds:span} of the onset, {times:as usual|# times the usual}",
        "起点前后 {seconds:span}内到达 {came:.0f} 个请求，{times:与平常相同|是平常的 # 倍}",
    )
    # Poisson counts wander by their square root: three of those above the usual is no chance.
    sure = (came - usual) / math.sqrt(max(usual, 1.0))
    strength = min(ramp(math.log(max(times, 0.1)), math.log(level("shift")) / 2, math.log(3.0)), ramp(sure, 1.0, 4.0))
    words = text.format(came=came, seconds=seconds, times=times)
    yield scene.evidence("requests.surge", times, "ratio", strength, words, onset=onset, anomaly=strength >= 1)


def arrivals(scene: Scene) -> Floats:
    """Requests that arrived in each interval, by the page."""
    return figures.arrivals(scene.state)


def _shift(
    scene: Scene, name: str, before: float, after: float, text: Text, since: Onset | tuple[Floats, Floats] | None
) -> Iterator[Evidence]:
    """A mean of the incident against the past; ``since`` is its onset, or the pair whose ratio changes there."""
    if not (math.isfinite(before) and math.isfinite(after) and before > 0 and after > 0):
        return
    times = after / before
    strength = ramp(math.log(times), math.log(level("shift")) / 2, 1.5 * math.log(level("shift")))
    changed = times > level("shift")
    onset = (onset_of(scene, *since) if isinstance(since, tuple) else since) if changed else None
    yield scene.evidence(
        name, times, "ratio", strength, text.format(after=after, times=times), onset=onset, anomaly=changed
    )


def _prefix(scene: Scene) -> Iterator[Evidence]:
    state = scene.state
    past = scene.ratio(state.prefix_hits, state.prefix_queries, scene.before) if scene.before.any() else math.nan
    before = scene.before_or("baseline.hits", past)
    after = scene.ratio(state.prefix_hits, state.prefix_queries)
    if not (math.isfinite(before) and math.isfinite(after)):
        return
    text = Text(
        "the prefix cache supplied {before:.0%} of the prompt tokens before and {after:.0%} now{work}",
        "前缀缓存此前提供 {before:.0%} 的提示 token，现在 {after:.0%}{work}",
    )
    fell = min(before - after, before * _fewer_from_cache(scene))
    lost = fell > level("hit_loss") * max(before, 0.3)
    strength = ramp(fell, level("hit_loss") / 3, level("hit_loss"))
    onset = onset_of(scene, state.computed_tokens, state.first_tokens) if lost else None
    words = text.format(before=before, after=after, work=_more_work(scene))
    yield scene.evidence("prefix.lost", before - after, "ratio", strength, words, onset=onset, anomaly=lost)


def _fewer_from_cache(scene: Scene) -> float:
    """By which share the cached tokens of a prompt fell; 1 where there is no past to compare with.

    Prompts that grow behind the same shared beginning lower the hit ratio although the cache gives as much as before.
    """
    state = scene.state
    before = scene.ratio(state.prefix_hits, state.first_tokens, scene.before) if scene.before.any() else math.nan
    after = scene.ratio(state.prefix_hits, state.first_tokens)
    return max(1 - after / before, 0.0) if before > 0 and math.isfinite(after) else 1.0


def _more_work(scene: Scene) -> Text:
    """What the change means for a prompt; nothing where none was computed before, or as much as now."""
    state = scene.state
    before = scene.ratio(state.computed_tokens, state.first_tokens, scene.before)
    after = scene.ratio(state.computed_tokens, state.first_tokens)
    if not (before > 0 and math.isfinite(after)) or math.isclose(after, before, rel_tol=0.05):
        return Text("", "")
    text = Text(": {work:~2} times as much to compute for a prompt", "：每个提示的计算量是此前的 {work:~2} 倍")
    return text.format(work=after / before)


def _bursts(scene: Scene) -> Iterator[Evidence]:
    """Index of dispersion of the arrivals, and whether the queue drains between them.

    Away from standstills: who comes during one is seen with the first step after it, all at once.
    """
    state = scene.state
    standing = stalled(state) | frozen_tokens(state)
    standing[1:] |= standing[:-1].copy()
    dispersion = _dispersion(scene, scene.inside & ~standing)
    if not math.isfinite(dispersion):
        return
    drained = scene.share(state.waiting_end == 0)
    text = Text(
        "the variance of arrivals is {dispersion:~2} times their mean (1 is random); "
        "the queue is empty {drained:.0%} of the time",
        "到达数的方差是均值的 {dispersion:~2} 倍（随机为 1）；队列有 {drained:.0%} 的时间为空",
    )
    strength = min(ramp(dispersion, 1.5, level("bursty")), ramp(drained, 0.05, 0.3))
    yield scene.evidence(
        "arrivals.bursty", dispersion, "ratio", strength, text.format(dispersion=dispersion, drained=drained)
    )
    yield from _bunched(scene, dispersion, strength)


def _dispersion(scene: Scene, where: Bools) -> float:
    """Variance over mean of the arrivals of an interval; NaN where too few are seen.

    The engine takes requests in between steps: those that come while a long one runs are seen together after it, so that
    counts are over some steps at least. Where the client's file holds most of them it tells when they were sent: behind a
    slow front end, too, the page sees them come together.
    """
    by_page = _variance_over_mean(_over_some_steps(scene, arrivals(scene), where))
    view = scene.state.client
    if view is None or not _told_by_the_client(scene):
        return by_page
    return float(np.fmin(by_page, _variance_over_mean(view.sent[where])))


def _told_by_the_client(scene: Scene) -> bool:
    """Whether the client's file holds most of the incident's requests."""
    view = scene.state.client
    return view is not None and 2 * float(view.sent[scene.inside].sum()) >= float(
        np.nansum(arrivals(scene)[scene.inside])
    )


_COUNTS = 8  # fewer have no variance worth the name
_STEPS = 3.0  # fewer hold arrivals of one step or of two by chance


def _over_some_steps(scene: Scene, counts: Floats, where: Bools) -> Floats:
    """``counts`` of the intervals ``where``, summed over as many as hold some steps while requests run."""
    running = where & (scene.state.running_end > 0)
    steps = float(np.nan_to_num(scene.state.steps[running]).mean()) if running.any() else _STEPS
    each = math.ceil(_STEPS / steps) if steps > 0 else 1
    kept = counts[where]
    each = max(min(each, len(kept) // _COUNTS), 1)
    return np.asarray(kept[: len(kept) // each * each].reshape(-1, each).sum(axis=1))


def _variance_over_mean(counts: Floats) -> float:
    seen = counts[np.isfinite(counts)]
    return float(seen.var() / seen.mean()) if len(seen) >= _COUNTS and seen.mean() > 0 else math.nan


def _bunched(scene: Scene, dispersion: float, bursty: float) -> Iterator[Evidence]:
    """Whether arrivals come together more than they did: a load that always comes in fours is no news."""
    past = _dispersion(scene, scene.before)
    if not math.isfinite(past) or not (_told_by_the_client(scene) or scene.focus.kinds.get("itl", 0.0) < level("gain")):
        return  # by the page alone requests also come together after pauses that make tokens late
    # Chance makes a dispersion of 1, and among n intervals one that is off by 2 sqrt(2 / n).
    usual = max(past, 1.0) + 2 * math.sqrt(2 / scene.before.sum())
    times = max(dispersion / usual, 1e-9)  # nobody came, or all evenly
    text = Text(
        "arrivals vary by {dispersion:~2} times what chance makes, {usual:~2} before",
        "到达数的波动是随机的 {dispersion:~2} 倍，此前为 {usual:~2} 倍",
    )
    strength = min(bursty, ramp(math.log(times), math.log(level("shift")), 2 * math.log(level("slow_factor"))))
    yield scene.evidence("arrivals.bunched", times, "ratio", strength, text.format(dispersion=dispersion, usual=past))


def _giants(scene: Scene) -> Iterator[Evidence]:
    """Prompts many times the median one, or that take much of the pool, and how many requests share each one's delay."""
    histogram = scene.state.prompt_length
    median, _, _ = quantile_of(histogram, 0.5, scene.inside)
    _, low, _ = quantile_of(histogram, 0.995, scene.inside)
    if not (math.isfinite(median) and median > 0):
        return
    times, pool = low / median, _pool_tokens(scene)
    text = Text(
        "the longest prompts have over {top:.0f} tokens, {times:as many as the median one|# times the median one}{fills}",
        "最长的提示超过 {top:.0f} 个 token，{times:与中位数相同|是中位数的 # 倍}{fills}",
    )
    if times <= 1:  # the bound below the longest ones is no proof that they are as long as the median one
        text = Text("no prompt is seen to be longer than the median one{fills}", "未见比中位数更长的提示{fills}")
    fills = Text(" and {share:.0%} of the KV pool", "，占 KV 池的 {share:.0%}").format(share=low / pool)
    long = ramp(times, level("giant") / 2, level("giant"))
    large = min(ramp(low / pool, level("giant_share") / 2, level("giant_share")), ramp(times, 1.0, 2.0))
    words = text.format(top=low, times=times, fills=fills if large > 0 else Text("", ""))
    yield scene.evidence("prompts.giant", times, "ratio", max(long, large), words)
    if times >= level("giant"):
        yield from _victims(scene, level("giant") * median / 2)
    elif large > 0:
        yield from _victims(scene, low)


def _pool_tokens(scene: Scene) -> float:
    """Tokens that the KV pool holds; infinite where that is not known."""
    blocks, size = scene.state.limit_value("num_gpu_blocks"), scene.state.limit_value("block_size")
    return blocks * size if math.isfinite(blocks) and math.isfinite(size) and blocks * size > 0 else math.inf


def _victims(scene: Scene, giant: float) -> Iterator[Evidence]:
    """Requests with a felt wait against prompts of over ``giant`` tokens: several late ones for each stand behind it."""
    giants = count_above(scene.state.prompt_length, giant, scene.inside)
    late = count_above(scene.state.ttft, 2 * level("felt_wait"), scene.inside)
    if not giants > 0:
        return
    each = max(late - giants, 0.0) / giants
    drained = scene.share(scene.state.waiting_end == 0)
    text = Text(
        "{each:.1f} other requests got their first token late for each giant prompt; "
        "the queue is empty {drained:.0%} of the time",
        "每个巨型提示使另外 {each:.1f} 个请求的首 token 延迟；队列有 {drained:.0%} 的时间为空",
    )
    strength = min(ramp(each, 0.5, level("victims")), ramp(drained, 0.05, 0.3))
    yield scene.evidence("prompts.victims", each, "req", strength, text.format(each=each, drained=drained))


def _demand(scene: Scene) -> Iterator[Evidence]:
    state = scene.state
    running = scene.mean((state.running_start + state.running_end) / 2)
    waiting = scene.mean(state.waiting_end)
    if not (math.isfinite(running) and math.isfinite(waiting)):
        return
    text = Text(
        "{running:one request runs|# requests run} and {waiting:~2} wait on average",
        "平均运行 {running:~2} 个请求，等待 {waiting:~2} 个",
    )
    strength = ramp(running, 2 * level("idle_running"), level("idle_running") / 2) if waiting < 0.5 else -1.5
    strength = -1.5 if scene.focus.hurts else strength
    yield scene.evidence("demand.low", running, "req", strength, text.format(running=running, waiting=waiting))


def _closed_loop(scene: Scene) -> Iterator[Evidence]:
    """In flight flat at one number with nobody waiting: the client's pool decides."""
    state = scene.state
    held = (state.running_end + state.waiting_end)[scene.inside]
    held = held[np.isfinite(held)]
    if len(held) < 5 or not held.max() >= 2:
        return
    pool = float(held.max())
    share = float((held >= pool - 0.5).mean())
    waiting = scene.mean(state.waiting_end)
    text = Text(
        "at most {pool:one request is|# requests are} in flight, in {share:.0%} of the scrapes; {waiting:~2} wait on average",
        "在途请求最多 {pool:.0f} 个，占采样的 {share:.0%}；平均等待 {waiting:~2} 个",
    )
    strength = ramp(share, 0.3, 0.6) if waiting < 0.5 and not scene.focus.hurts else -1.0
    yield scene.evidence("clients.pool", pool, "req", strength, text.format(pool=pool, share=share, waiting=waiting))
