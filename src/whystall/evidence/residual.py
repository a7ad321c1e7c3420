"""Are steps slower than their batch explains, is it every step or single pauses, and what does the excess grow with."""

from __future__ import annotations

import math
from collections.abc import Iterator

import msgspec
import numpy as np

from whystall.model.diagnosis import Evidence, Onset
from whystall.model.text import Text
from whystall.state.histograms import count_of, mean_of, quantile_of
from whystall.state.step_cost import TERMS, StepCost, StepRows, fit_cost, non_negative

from .devices import device
from .pauses import paused
from .scene import Floats, Scene
from .step_watch import residual_of
from .thresholds import level, ramp

_SIGMAS = 2.0  # of doubt on either side: 95%
_SHEET_READ = 0.85  # of the data sheet's bandwidth is what reading weights reaches (method.md 1, two cards)


def residual(scene: Scene) -> Iterator[Evidence]:
    """Evidence from the time of steps against their work, and from the gaps that are no steps."""
    yield from _median(scene)
    yield from paused(scene)
    found = list(_of_the_incident(scene))
    yield from found
    if not any(evidence.anomaly for evidence in found):
        yield from _beside(scene)


def _of_the_incident(scene: Scene) -> Iterator[Evidence]:
    rows = _inside(scene)
    if not len(rows):
        return
    known = healthy_cost(scene)
    if known is not None:
        slower = _slowdown(scene, rows, known)
        yield slower
        if slower.anomaly:
            yield from _shape(scene, rows, known)
            yield from _on_the_gpu(scene, slower.value or 1.0)
    elif (sheet := sheet_cost(scene)) is not None:
        yield _against_the_sheet(scene, rows, sheet)


def healthy_cost(scene: Scene) -> StepCost | None:
    """The line through the rows before the incident, or of a saved baseline; None where both are too few."""
    if scene.paced is None:
        return None
    rows, before = scene.paced.rows, scene.before
    if scene.known is not None and len(scene.known.rows) >= level("residual_rows"):
        return scene.paced.cost
    past = rows.some(
        np.array([bool(before[a:b].all()) for a, b in zip(rows.first, rows.last, strict=True)], dtype=bool)
    )
    if len(past) >= level("residual_rows"):
        return fit_cost(past, scene.state)
    # An incident that began before its steps slowed has healthy rows all the same.
    known = scene.paced.changed and scene.paced.cost.rows >= level("residual_rows")
    return scene.paced.cost if known else None


def sheet_cost(scene: Scene) -> StepCost | None:
    """What a step costs by the GPU's data sheet and the model's size; None where either is not known."""
    configuration, gpu = scene.state.configuration, scene.state.gpu
    sheet = device(configuration.gpu_name or (gpu.name if gpu is not None else ""))
    if sheet is None or not configuration.weights_bytes:
        return None
    empty = scene.paced.rows.some(slice(0, 0)) if scene.paced is not None else None
    quick = configuration.weights_bytes / (_SHEET_READ * sheet.bytes_per_s)
    return fit_cost(empty, scene.state, quick) if empty is not None else None


def _inside(scene: Scene) -> StepRows:
    """Rows that lie in the incident."""
    if scene.paced is None:
        return StepRows.none()
    rows = scene.paced.rows
    return rows.some(np.array([bool(scene.inside[a:b].all()) for a, b in zip(rows.first, rows.last, strict=True)]))


def _slowdown(scene: Scene, rows: StepRows, cost: StepCost) -> Evidence:
    """Median residual of the incident. Near zero it exonerates GPU, link and host alike: the work explains the time."""
    r, doubt = residual_of(rows, cost), _SIGMAS * cost.doubt(rows.work)
    low, middle, high = (float(np.median(x)) for x in (r - doubt, r, r + doubt))
    worth, certain = -math.log(1 - level("gain")), math.log(level("slow_factor"))
    strength = 0.0
    if low > level("residual_effect"):
        strength = max(-1.5, min(1.5, 0.3 + 0.7 * ramp(low, worth, certain)))
    elif high < worth:
        strength = -ramp(high, worth, level("residual_effect"))
    text = Text(
        "a step takes {times:~3} times what the same batch took before ({low:~3} to {high:~3}, by {n} rows of steps; "
        "those are off by {error:.0%} themselves)",
        "每步耗时是此前同样批次的 {times:~3} 倍（{low:~3} 至 {high:~3}，依据 {n} 组步；其自身误差 {error:.0%}）",
    )
    values = {"times": math.exp(middle), "low": math.exp(low), "high": math.exp(high)}
    words = text.format(**values, n=cost.rows, error=cost.error_ratio)
    slower = strength >= 0.3
    onset = _onset(scene) if slower else None
    return scene.evidence("step.residual", math.exp(middle), "ratio", strength, words, onset=onset, anomaly=slower)


def _on_the_gpu(scene: Scene, times: float) -> Iterator[Evidence]:
    """The part of longer steps in which the GPU works, in logs: its busy time a step against that before.

    A slower kernel, link or clock keeps the GPU busy for longer; a slower host leaves that time as it was.
    """
    gpu = scene.state.gpu
    if gpu is None or not times > 1 + level("residual_effect"):
        return
    now, past = (
        scene.mean(gpu.util_ratio, at & (scene.state.running_start > 0)) for at in (scene.inside, scene.before)
    )
    if not (now > 0 and past > 0):
        return
    busier = times * now / past
    share = math.log(busier) / math.log(times)
    text = Text(
        "of a step's {times:~3} times the GPU works {busier:~3} times as long as before (in use {now:.0%} of the time, "
        "{past:.0%} before)",
        "步时为 {times:~3} 倍，其中 GPU 工作时间为此前的 {busier:~3} 倍（使用率 {now:.0%}，此前 {past:.0%}）",
    )
    values = {"times": times, "busier": busier, "now": now, "past": past}
    # Half of the excess decides; a gauge's dither moves the share by some tenths where steps are a quarter longer.
    yield scene.evidence("step.on_gpu", share, "ratio", ramp(share, 0.5, 0.9), text.format(**values), "gpu")


def _beside(scene: Scene) -> Iterator[Evidence]:
    """Steps that became slower at equal work, and nobody feels it yet, or what is felt is another loss: an anomaly only."""
    paced = scene.paced
    if paced is None or not paced.changed:
        return
    slower = [bool(paced.slower[at]) for at in paced.rows.first]
    times = math.exp(float(np.median(paced.residual[slower])))
    unfelt = Text(
        "a step takes {times:~3} times what the same batch took before; nobody feels it yet",
        "每步耗时是此前同样批次的 {times:~3} 倍；尚无人察觉",
    )
    other = Text(
        "a step takes {times:~3} times what the same batch took before, which is not the loss that is felt",
        "每步耗时是此前同样批次的 {times:~3} 倍，但所感受到的损失并非由此而来",
    )
    text = (other if scene.focus.hurts else unfelt).format(times=times)
    yield scene.evidence("step.slower", times, "ratio", 0.0, text, onset=paced.onset, anomaly=True)


def _onset(scene: Scene) -> Onset | None:
    return scene.paced.onset if scene.paced is not None else None


def _against_the_sheet(scene: Scene, rows: StepRows, cost: StepCost) -> Evidence:
    """The same against data sheets, which are right within half: only a multiple of that says anything."""
    r = float(np.median(residual_of(rows, cost)))
    text = Text(
        "a step takes {times:~2} times what the GPU's data sheet and the model's size let expect (right within half)",
        "每步耗时是按 GPU 数据表与模型大小预期的 {times:~2} 倍（误差可达一半）",
    )
    strength = max(0.0, min(1.0, ramp(r, 2 * level("sheet_error"), 4 * level("sheet_error"))))
    return scene.evidence("step.over_sheet", math.exp(r), "ratio", strength, text.format(times=math.exp(r)))


def _median(scene: Scene) -> Iterator[Evidence]:
    """The gap that half of the tokens exceed: a mean tells single pauses and slow steps alike."""
    itl = scene.state.itl
    median = quantile_of(itl, 0.5, scene.inside)[0]
    mean = mean_of(itl, scene.inside)
    if not (median > 0 and count_of(itl, scene.inside) >= level("episode_tokens")):
        return
    text = Text(
        "half of the tokens come {median:~2} ms or more after the one before; the mean is {mean:~2} ms",
        "一半的 token 与前一个相隔 {median:~2} 毫秒以上；平均 {mean:~2} 毫秒",
    )
    strength = max(-1.5, min(1.5, 0.3 + 0.7 * ramp(math.log(median / level("felt_itl")), 0.0, math.log(2.0))))
    yield scene.evidence("itl.median", median, "s", strength, text.format(median=1e3 * median, mean=1e3 * mean))


class Shape(msgspec.Struct, frozen=True):
    """An excess that grows with these terms of a step's work, and the evidence of it."""

    id: str
    terms: tuple[str, ...]
    text: Text


SHAPES = (
    Shape(
        "excess.each_step",
        ("steps",),
        Text(
            "{share:.0%} of the excess is the same for every step, whatever its batch",
            "超出时间的 {share:.0%} 与批次无关，每步相同",
        ),
    ),
    Shape(
        "excess.by_tokens",
        ("tokens",),
        Text("{share:.0%} of the excess grows with the step's tokens", "超出时间的 {share:.0%} 随步内 token 数增长"),
    ),
    Shape(
        "excess.by_sequences",
        ("requests", "context"),
        Text(
            "{share:.0%} of the excess grows with the sequences and their context",
            "超出时间的 {share:.0%} 随序列数及其上下文增长",
        ),
    ),
)
_OF = ("steps", "tokens", "requests", "context")


def _shape(scene: Scene, rows: StepRows, cost: StepCost) -> Iterator[Evidence]:
    """What the excess grows with, where the batches differ enough to tell (method.md 2.5: tokens or sequences)."""
    excess = rows.seconds - cost.seconds(rows.work)
    work = rows.work[:, [TERMS.index(name) for name in _OF]]
    if len(rows) < 2 * level("residual_rows") or min(_spread(work[:, 1]), _spread(work[:, 2])) < level("shape_spread"):
        return
    found = non_negative(work / rows.seconds[:, None], excess / rows.seconds)
    parts = dict(zip(_OF, found * work.mean(axis=0), strict=True))
    whole = sum(parts.values())
    for shape in SHAPES:
        share = sum(parts[term] for term in shape.terms) / whole if whole > 0 else 0.0
        yield scene.evidence(shape.id, share, "ratio", ramp(share, 0.3, 0.7), shape.text.format(share=share))


def _spread(values: Floats) -> float:
    return float(values.std() / max(values.mean(), 1e-9))
