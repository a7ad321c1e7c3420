"""A change -> its prediction; a diagnosis' remedies -> the same with what each would do, the best first."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import msgspec
import numpy as np

from whystall.errors import TooLittleData, UsageError
from whystall.model.diagnosis import Diagnosis, NotOffered, Remedy
from whystall.model.engine_state import EngineState
from whystall.model.prediction import Metric, NotPredicted, PredictedMetric, Prediction, WhatIf
from whystall.model.slo import Slo
from whystall.model.text import Text
from whystall.remedies.experience import chance
from whystall.remedies.rules import Refusal, may_start, setup_of

from .assume import assumed, assumption
from .express import Expressed, expressed
from .front import handed_out, settled
from .play import DRAWS, Figures, draws_of, runs
from .subject import Subject, subject_of
from .variant import Draw, Variant
from .verdict import EFFECT, advice, binds_next, catches_up, judged, metrics_of, off_by, reason, sampled

MOST_PREDICTED = 4  # of a diagnosis' remedies: those that come first in its own order
_FAR = 1.5  # times what the steps had that were seen
_UNLIKE = 0.25  # the emulated window is that far off the measured one
_RANGE = Text(
    "up to {would:.0f} requests would run at once; the steps seen had {had:.0f} at most",
    "将有至多 {would:.0f} 个请求同时运行；见过的步最多 {had:.0f} 个",
)
_TOKENS = Text(
    "steps of up to {would:.0f} tokens; those seen had about {had:.0f} at most",
    "单步至多 {would:.0f} 个 token；见过的最多约 {had:.0f} 个",
)
_OFF = Text(
    "the window as it is comes out {off:+.0%} in {metric}: the intervals are that much wider",
    "按现状仿真，{metric} 偏差 {off:+.0%}：区间已相应放宽",
)
_SET = Text("the server is set so already", "服务器已是该设置")
_NOT_IN_MODEL = Text(
    "{cause} is no part of the engine's model: what it takes stays as it is", "{cause} 不在引擎模型之内：其影响保持不变"
)
# Causes whose losses come from outside of the steps that are fitted.
_OUTSIDE = (
    "frontend_cpu",
    "network",
    "gateway",
    "multimodal_preprocessing",
    "engine_hang",
    "engine_dead",
    "gpu_fault",
    "oom",
    "jit_compile",
    "gc_pause",
    "weight_loading",
    "startup_failure",
    "replica_imbalance",
    "lora_swapping",
)
_NO_PART = Text(
    "it is no flag and no number of servers, clients or cores, which is what the emulator can turn",
    "它不是参数，也不是服务器、客户端或核的数量，仿真器只能改变这些",
)
_LATER = Text(
    "only the first {most} are played; ask for it by itself with whystall whatif",
    "只试算前 {most} 项；可用 whystall whatif 单独询问",
)
_DROPPED = Text("predicted: {because}", "预测：{because}")


class WhatIfAsked(msgspec.Struct, frozen=True):
    """One change to predict: flags (or knob ids) to values, and what is no flag."""

    change: dict[str, str] = {}
    assume: dict[str, str] = {}


class Stage(msgspec.Struct, frozen=True):
    """A subject, its draws, and the runs of the server as it is: what all changes are compared with."""

    subject: Subject
    draws: tuple[Draw, ...]
    baseline: tuple[Figures, ...]


def stage_of(diagnosis: Diagnosis, state: EngineState, slo: Slo | None = None, count: int = DRAWS) -> Stage:
    """The server as it is, played ``count`` times. Raises TooLittleData where the window does not say enough for it."""
    with np.errstate(all="ignore"):  # sums of damaged values overflow; every use leaves out what is not finite
        subject = subject_of(diagnosis, state, slo)
        draws = settled(subject, draws_of(subject, count))
        return Stage(subject, tuple(draws), tuple(runs(subject, Variant(subject.options), draws)))


def predict(stage: Stage, asked: WhatIfAsked) -> Prediction | NotPredicted:
    """What the change would do, or why that cannot be said."""
    subject = stage.subject
    refused = refusals(subject.state, asked.change)
    if refused:
        return NotPredicted(asked.change, refused[0].text, asked.assume)
    variant: Expressed = expressed(subject, asked.change)
    if isinstance(variant, Variant):
        variant = assumed(subject, variant, asked.assume)
    if isinstance(variant, Text):
        return NotPredicted(asked.change, variant, asked.assume)
    with np.errstate(all="ignore"):
        changed = tuple(runs(subject, variant, list(stage.draws)))
        changed = tuple(handed_out(subject, variant.replicas, stage.draws, stage.baseline, changed))
        return _prediction(stage, asked, variant, changed)


def _prediction(stage: Stage, asked: WhatIfAsked, variant: Variant, changed: tuple[Figures, ...]) -> Prediction:
    subject, used = stage.subject, stage.subject.machine.used
    off = off_by(subject.now, stage.baseline)
    samples = sampled(subject.now, stage.baseline, changed, used.error_ratio, variant.spread)
    caught_up = catches_up(stage.baseline, changed, variant.replicas)
    p_meets, p_harm, harmed = judged(samples, subject.slo, caught_up=caught_up)
    profile = subject.machine.profile
    knee = profile.floor_s / profile.token_s if profile.token_s > 0 else math.inf
    table = subject.table
    return Prediction(
        change=asked.change,
        assume=asked.assume,
        metrics=metrics_of(subject.now, samples),
        p_meets=p_meets,
        p_harm=p_harm,
        advice=advice(p_meets, p_harm),
        because=reason(p_meets, p_harm, harmed),
        binds_next=binds_next(changed, variant.options.token_budget, knee),
        profile=msgspec.structs.replace(used, reproduced={m: round(math.expm1(v), 4) for m, v in off.items()}),
        draws=len(stage.draws),
        warnings=(*variant.warnings, *subject.assumed, *_warnings(stage, asked, variant, changed, off)),
        harmed=harmed,
        start=float(table.times[0]) + subject.start,
        seconds=subject.stop - subject.start,
    )


def _warnings(
    stage: Stage, asked: WhatIfAsked, variant: Variant, changed: Sequence[Figures], off: Mapping[Metric, float]
) -> list[Text]:
    subject = stage.subject
    found = [_OFF.format(metric=m, off=math.expm1(v)) for m, v in off.items() if abs(v) > _UNLIKE]
    causes = (cause.id for cause in subject.case.diagnosis.causes if cause.id in _OUTSIDE)
    found += [_NOT_IN_MODEL.format(cause=cause) for cause in causes]
    if asked.change and is_set_so(subject.state, asked.change):
        found.append(_SET)
    return [*found, *_far(stage, variant, changed)]


def _far(stage: Stage, variant: Variant, changed: Sequence[Figures]) -> list[Text]:
    """What lies outside of the steps that the profile was fitted on."""
    samples = stage.subject.machine.samples
    if samples is None or not len(samples):
        return []
    found = []
    had = float(samples.requests.max())
    would = float(np.median([figures.running_peak for figures in changed]))
    if would > _FAR * max(had, 1.0):
        found.append(_RANGE.format(would=would, had=had))
    tokens = float((samples.tokens * (samples.mixed > 0)).max(initial=0.0))
    budget = variant.options.token_budget
    if budget > stage.subject.options.token_budget and budget > _FAR * tokens:
        found.append(_TOKENS.format(would=budget, had=tokens))
    return found


def refusals(state: EngineState, change: Mapping[str, str]) -> tuple[Refusal, ...]:
    """Why the server would not start with ``change``."""
    return may_start(state.configuration, change)


# -- the verb


def asked_of(settings: Sequence[str], assumptions: Sequence[str] = (), rate: str = "") -> WhatIfAsked:
    """``("--max-num-seqs=64",)`` and ``("replicas=2",)`` as one change. Raises UsageError naming what is wrong."""
    change = dict(setting(text) for text in settings)
    assume = dict(assumption(text) for text in assumptions)
    if rate:
        assume |= [assumption(f"rate={rate}")]
    if not change and not assume:
        raise UsageError("nothing was asked", "Name a change: --set max-num-seqs=64, --rate x1.5, --assume replicas=2.")
    return WhatIfAsked(change, assume)


def setting(text: str) -> tuple[str, str]:
    """``max-num-seqs=64``, with or without dashes, as flag and value; a name alone sets a switch, ``name=`` removes."""
    name, equals, value = text.strip().partition("=")
    if not name.strip("- "):
        raise UsageError(f"{text!r} names no flag", "Write --set max-num-seqs=64.")
    flag = "--" + name.strip().lstrip("-").replace("_", "-")
    return flag, value.strip() if equals else "true"


def sweep_of(text: str) -> list[WhatIfAsked]:
    """``max-num-seqs=16,32,64`` as one change a value. Raises UsageError where there are none."""
    flag, values = setting(text)
    each = [value.strip() for value in values.split(",") if value.strip()]
    if "=" not in text or not each or len(each) > 20:
        raise UsageError(f"{text!r} is no sweep", "Write --sweep max-num-seqs=16,32,64, with 20 values at most.")
    return [WhatIfAsked({flag: value}) for value in each]


def what_if(diagnosis: Diagnosis, state: EngineState, asked: Sequence[WhatIfAsked], slo: Slo | None = None) -> WhatIf:
    """Every change asked for. Raises UsageError where none of them lets the server start, TooLittleData."""
    require_start(state, asked)
    return answers(stage_of(diagnosis, state, slo), asked)


def require_start(state: EngineState, asked: Sequence[WhatIfAsked]) -> None:
    """Raises UsageError where no change lets the server start."""
    refused = [refusals(state, one.change) for one in asked]
    if all(refused):
        why = refused[0][0].text.en
        raise UsageError(
            f"the server would refuse to start: {why}",
            f"whystall explain {refused[0][0].flag} has its range and its rules.",
        )


def answers(stage: Stage, asked: Sequence[WhatIfAsked]) -> WhatIf:
    """Every change asked for, each compared with the runs that ``stage`` has of the server as it is."""
    diagnosis = stage.subject.case.diagnosis
    found = [predict(stage, one) for one in asked]
    return WhatIf(
        target=diagnosis.target,
        engine=diagnosis.engine.id,
        version=stage.subject.state.configuration.version,
        predictions=tuple(one for one in found if isinstance(one, Prediction)),
        not_predicted=tuple(one for one in found if isinstance(one, NotPredicted)),
    )


# -- remedies


def predict_remedies(
    diagnosis: Diagnosis, state: EngineState, *, slo: Slo | None = None, most: int = MOST_PREDICTED
) -> tuple[Remedy, ...]:
    """The remedies of ``diagnosis`` with a prediction for the first ``most`` that the emulator can express.

    What is recommended comes first, then what only a canary should try, then what was not predicted; of each, what is
    expected to recover most of the loss (:func:`worth`), which counts how it fared in kept cases. What would not
    help, or might harm, is dropped and told in ``not_offered`` of the first; where nothing else is left it stays, last,
    with its advice "no". What is not predicted says why. Where the window does not say enough for any prediction, they
    stay in their order.
    """
    wanted = [remedy for remedy in diagnosis.remedies if _can_be_played(remedy)][:most]
    try:
        stage = stage_of(diagnosis, state, slo) if wanted else None
    except TooLittleData as error:
        return tuple(_without(remedy, Text(error.message)) for remedy in diagnosis.remedies)
    told = {remedy.id: _told(stage, remedy) for remedy in wanted if stage is not None}
    later = _LATER.format(most=most)
    remedies = [told.get(remedy.id) or _without(remedy, later) for remedy in diagnosis.remedies]
    return _ranked(remedies, {cause.id: cause.probability for cause in diagnosis.causes})


def _can_be_played(remedy: Remedy) -> bool:
    return bool(remedy.change or remedy.assume)


def _without(remedy: Remedy, why: Text) -> Remedy:
    """``remedy`` with why it comes without a prediction; one that is no flag and no number has a reason of its own."""
    return msgspec.structs.replace(remedy, not_predicted=why if _can_be_played(remedy) else _NO_PART)


def _told(stage: Stage, remedy: Remedy) -> Remedy:
    found = predict(stage, WhatIfAsked(remedy.change, remedy.assume))
    if isinstance(found, NotPredicted):
        return _without(remedy, found.because)
    return msgspec.structs.replace(remedy, prediction=found, effect=found.effect())


_MOST_GAINED = math.log(100.0)
_ALIKE = 1  # decimals: what differs by less is the draws' doing, and the order of before stands
_ORDER = {"recommend": 0, "canary": 1, "": 2, "no": 3}


def _advice(remedy: Remedy) -> str:
    return remedy.prediction.advice if remedy.prediction else ""


def worth(remedy: Remedy, sure: Mapping[str, float]) -> float:
    """What ``remedy`` is expected to recover: the loss that it was predicted to take away, as a logarithm, times the
    probabilities that its cause holds (``sure``, by cause), that it helps, and that it does again what it did in kept
    cases. 0 where nothing was predicted."""
    prediction = remedy.prediction
    if prediction is None:
        return 0.0
    gains = [gain(metric) for metric in prediction.metrics if metric.id in EFFECT]
    return sure.get(remedy.cause, 1.0) * prediction.p_meets * chance(remedy.tried) * max(gains, default=0.0)


def gain(metric: PredictedMetric) -> float:
    """How much better a metric would be, as a logarithm, over 0 is better; a change by half counts alike both ways."""
    if metric.relative is None:
        return 0.0
    change = math.log(max(1 + metric.relative.mid, 1e-2))
    return -change if metric.lower_is_better else min(change, _MOST_GAINED)


def _ranked(remedies: list[Remedy], sure: Mapping[str, float]) -> tuple[Remedy, ...]:
    ordered = sorted(remedies, key=lambda remedy: (_ORDER[_advice(remedy)], -round(worth(remedy, sure), _ALIKE)))
    kept = [remedy for remedy in ordered if _advice(remedy) != "no"]
    dropped = [remedy for remedy in ordered if _advice(remedy) == "no"]
    if not kept:
        return tuple(ordered)
    against = tuple(_not_offered(remedy) for remedy in dropped)
    carried = tuple(one for remedy in dropped for one in remedy.not_offered)
    first = msgspec.structs.replace(kept[0], not_offered=(*kept[0].not_offered, *carried, *against))
    return (first, *kept[1:])


def _not_offered(remedy: Remedy) -> NotOffered:
    assert remedy.prediction is not None
    return NotOffered(remedy.text, _DROPPED.format(because=remedy.prediction.because))


def is_set_so(state: EngineState, change: Mapping[str, str]) -> bool:
    """Whether the server already has every value of ``change``."""
    now, after = setup_of(state.configuration), setup_of(state.configuration, change)
    return all(now.text(knob) == after.text(knob) for knob in after.changes)
