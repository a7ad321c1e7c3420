"""A limit that will be reached -> what to do before: remedies of its cause, each played under the load that comes."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np

from whystall.errors import TooLittleData
from whystall.model.diagnosis import Cause, Diagnosis, Remedy
from whystall.model.engine_state import EngineState
from whystall.model.incident import Forecast
from whystall.model.prediction import METRIC_NAMES, Metric, NotPredicted, PredictedMetric, Prediction
from whystall.model.slo import Slo
from whystall.model.suggestion import Suggestion
from whystall.model.text import Text

from .choose import remedies
from .whatif.load import at_rate
from .whatif.play import runs
from .whatif.prediction import Stage, WhatIfAsked, predict, stage_of
from .whatif.variant import Variant

AHEAD_S = 600.0  # as far as a forecast looks: what comes until then
MOST_LOAD = 4.0  # a steeper slope is a burst's begin, and no trend that goes on for ten minutes
_CAUSE = {"kv_blocks": "kv_capacity", "seats": "seat_cap"}
_MOST_TRIED = 3
_PLACE = "foreseen"  # for what the diagnosis of a server that has no trouble yet does not have
_TOLD: tuple[Metric, ...] = ("ttft_p95", "ttft_mean", "e2e_p95")
_BETTER = Text(
    "{text}: at {factor:.1f} times the load {metric} would be {b} in place of {a}; nothing was changed",
    "{text}：负载为现在的 {factor:.1f} 倍时，{metric} 将为 {b}，而不是 {a}；未做任何更改",
)
_RANGE = Text("{mid:.2g} s ({low:.2g} to {high:.2g})", "{mid:.2g} 秒（{low:.2g} 至 {high:.2g}）")
_NONE = Text("no flag of this server is known to help before: {why}", "没有已知参数能提前避免：{why}")
_NO_CANDIDATE = Text("nothing that this server's version has treats it", "该服务器版本没有可用的办法")
_NOT_SAID = Text("what it would do cannot be said: {why}", "无法预测其效果：{why}")


def foreseen(forecast: Forecast, diagnosis: Diagnosis, state: EngineState, slo: Slo | None = None) -> Suggestion:
    """The best remedy for what ``forecast`` says will be full, tried on the emulator under the load that comes.

    ``diagnosis`` and ``state`` are those of the last window, in which nothing hurts yet.
    """
    factor = load_to_come(forecast)
    wanted = candidates(forecast, diagnosis, state, factor)
    if not wanted:
        return Suggestion(_NONE.format(why=_NO_CANDIDATE), factor)
    try:
        stage = under(stage_of(diagnosis, state, slo), factor)
    except TooLittleData as error:
        return Suggestion(_NOT_SAID.format(why=error.message), factor, remedy=wanted[0])
    return _best(stage, wanted, factor)


def load_to_come(forecast: Forecast) -> float:
    """Times today's load, where the slope leads in ten minutes."""
    return float(np.clip(1.0 + forecast.slope_per_s * AHEAD_S / max(forecast.level, 1e-3), 1.0, MOST_LOAD))


def candidates(forecast: Forecast, diagnosis: Diagnosis, state: EngineState, factor: float) -> tuple[Remedy, ...]:
    """What treats the cause that the limit will be, with values for the load that comes."""
    cause = _CAUSE[forecast.limit]
    assumed = msgspec.structs.replace(
        diagnosis,
        causes=(Cause(cause, 1.0, "limit", forecast.text),),
        remedies=(Remedy(_PLACE, forecast.text, cause=cause),),
    )
    found = remedies(assumed, _with_load(state, factor))
    return tuple(remedy for remedy in found if remedy.id != _PLACE and (remedy.change or remedy.assume))


def _with_load(state: EngineState, factor: float) -> EngineState:
    """The state with as many waiting as will have come."""
    more = np.nan_to_num(state.waiting_end) + (factor - 1) * np.nan_to_num(state.running_end)
    return msgspec.structs.replace(state, waiting_end=more)


def under(stage: Stage, factor: float) -> Stage:
    """``stage`` under ``factor`` times its load. What was measured was so under another load, and scales nothing."""
    draws = tuple(msgspec.structs.replace(draw, load=at_rate(draw.load, factor)) for draw in stage.draws)
    subject = msgspec.structs.replace(stage.subject, now={})
    with np.errstate(all="ignore"):
        return Stage(subject, draws, tuple(runs(subject, Variant(subject.options), list(draws))))


def _best(stage: Stage, wanted: Sequence[Remedy], factor: float) -> Suggestion:
    """The first that is recommended, else the first that is likelier to help than to harm."""
    now = predict(stage, WhatIfAsked())
    without = now.metrics if isinstance(now, Prediction) else ()
    told = [(remedy, predict(stage, WhatIfAsked(remedy.change, remedy.assume))) for remedy in wanted[:_MOST_TRIED]]
    for advice in ("recommend", "canary"):
        for remedy, found in told:
            if isinstance(found, Prediction) and found.advice == advice:
                remedy = msgspec.structs.replace(remedy, prediction=found, effect=found.effect())
                return Suggestion(_said(remedy, found, without, factor), factor, without, remedy)
    remedy, found = told[0]
    why = found.because if isinstance(found, NotPredicted) else _NONE.format(why=found.because)
    if isinstance(found, NotPredicted):
        return Suggestion(_NOT_SAID.format(why=why), factor, without, remedy)
    return Suggestion(why, factor, without)


def _said(remedy: Remedy, found: Prediction, without: tuple[PredictedMetric, ...], factor: float) -> Text:
    """By the metric of the first word, or of the whole answer, that it makes most better."""
    before = {metric.id: metric.predicted for metric in without}
    pairs = [(id, before[id], found.metric(id)) for id in _TOLD if id in before and found.metric(id) is not None]
    if not pairs:
        return found.because
    id, a, b = min(pairs, key=lambda pair: pair[2].predicted.mid / max(pair[1].mid, 1e-9) if pair[2] else 1.0)
    assert b is not None
    ranges = (_RANGE.format(low=one.low, mid=one.mid, high=one.high) for one in (b.predicted, a))
    with_, as_is = ranges
    return _BETTER.format(text=remedy.text, factor=factor, metric=METRIC_NAMES[id], a=as_is, b=with_)
