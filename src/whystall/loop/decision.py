"""Which remedy is tried, and whether what the trial showed is kept."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from whystall.model.diagnosis import Diagnosis, Remedy
from whystall.model.fix import Improvement
from whystall.model.prediction import Prediction, Range
from whystall.model.text import Text
from whystall.model.trial import Effect, Metric, Trial
from whystall.remedies.whatif.verdict import CANARY_HARM

# What a user feels, in the order in which one is taken where several would improve as surely.
FELT: tuple[Metric, ...] = ("e2e_mean", "ttft_mean", "ttft_p95", "itl_p95", "itl_mean", "e2e_p95", "tokens_per_s")
_FELT_TTFT_S = 0.2  # DESIGN.md section 2
_TAILS = frozenset(("ttft_p95", "itl_p95", "e2e_p95"))
_LOWER = frozenset(("e2e_mean", "ttft_mean", "ttft_p95", "itl_p95", "itl_mean", "e2e_p95"))

# A trial in blocks with the way back ready is a canary: plain harm lasts for one block. What is likelier to harm than
# not is not worth even that.
MOST_HARM = CANARY_HARM

_NONE = Text("no knob of this server treats {causes}: {instead}", "该服务器没有可治 {causes} 的参数：{instead}")
_NOTHING = Text("nothing is changed", "未做任何更改")
_FIRST = Text("what would help is: {text}", "可行的办法是：{text}")
_NOT_RECOMMENDED = Text(
    "{text}: {because}. Nothing is changed (--canary tries it all the same, with the way back ready)",
    "{text}：{because}。未做任何更改（--canary 可在备好退路后试行）",
)
_AS_CANARY = Text("as a canary, taken back at the first harm: {because}", "作为金丝雀试行，一有损害即恢复：{because}")
_NOT_PREDICTED = Text("the emulator cannot say what it would do", "模拟器无法预测其效果")
_NOT_PREDICTED_AS = Text("what it would do is not predicted: {why}", "未预测其效果：{why}")
_MISSED = Text(
    "{metric} changed by {seen}, worse than all of what was predicted ({predicted}): the model of this server is wrong",
    "{metric} 变化 {seen}，比预测区间（{predicted}）都差：对该服务器的建模有误",
)


class Choice(msgspec.Struct, frozen=True):
    """The remedy that is to be tried, or why none is."""

    remedy: Remedy | None
    because: Text


class Decision(NamedTuple):
    """Whether the change is kept, and why."""

    keep: bool
    because: Text


def chosen(remedies: Sequence[Remedy], causes: Sequence[str], *, canary: bool = False) -> Choice:
    """The first remedy that is flags of the server and recommended, else the first that may be tried as a canary.

    With ``canary`` also what is likelier to harm than not, and what nobody could predict.
    """
    knobs = [remedy for remedy in remedies if remedy.change]
    sure = next((remedy for remedy in knobs if _advice(remedy) == "recommend"), None)
    tried = sure or next((remedy for remedy in knobs if _may_be_tried(remedy, canary)), None)
    if tried is not None:
        return Choice(tried, _because(tried) if tried is sure else _AS_CANARY.format(because=_because(tried)))
    if knobs:
        return Choice(None, _NOT_RECOMMENDED.format(text=knobs[0].text, because=_because(knobs[0])))
    first = next((remedy for remedy in remedies if remedy.text.en), None)
    instead = _FIRST.format(text=first.text) if first else _NOTHING
    return Choice(None, _NONE.format(causes=", ".join(causes) or "?", instead=instead))


def _advice(remedy: Remedy) -> str:
    return remedy.prediction.advice if remedy.prediction is not None else ""


def _may_be_tried(remedy: Remedy, canary: bool) -> bool:
    if remedy.prediction is None:
        return canary
    found = remedy.prediction
    if canary and found.p_harm >= MOST_HARM:
        return found.advice != "recommend" and found.p_meets > found.p_harm
    return found.advice == "canary" and found.p_harm < MOST_HARM


def _because(remedy: Remedy) -> Text:
    if remedy.prediction is not None:
        return remedy.prediction.because
    return _NOT_PREDICTED_AS.format(why=remedy.not_predicted) if remedy.not_predicted else _NOT_PREDICTED


def primary_of(
    prediction: Prediction | None, among: Sequence[Metric] = FELT, diagnosis: Diagnosis | None = None
) -> Metric:
    """The metric on which the change is to be proven: the one whose predicted gain shows soonest, else the first.

    A pair's tails differ about twice as much as its means do without any change (method.md 3), so a gain in one is worth
    half as much. Without a prediction it is mean TTFT where the incident is a wait for the first token (``diagnosis``).
    """
    if prediction is None and _is_a_queue(diagnosis) and "ttft_mean" in among:
        return "ttft_mean"
    best, gain = among[0], 0.0
    for metric in among:
        found = _predicted(prediction, metric)
        if found is not None and (sure := _sure_gain(metric, found) / (2 if metric in _TAILS else 1)) > 1.05 * gain:
            best, gain = metric, sure
    return best


def _is_a_queue(diagnosis: Diagnosis | None) -> bool:
    """Whether most of the time to the first token is spent in the queue, and that is felt."""
    impact = diagnosis.impact if diagnosis is not None else None
    if impact is None or impact.queue_s is None or impact.ttft_mean_s is None:
        return False
    return impact.ttft_mean_s > _FELT_TTFT_S and impact.queue_s >= impact.ttft_mean_s / 2


def _sure_gain(metric: Metric, found: Range) -> float:
    """The gain at the bad end of its interval, as a logarithm: 0.5 is a factor of 1.65."""
    end = found.high if metric in _LOWER else found.low
    change = math.log1p(max(end, -0.999))
    return -change if metric in _LOWER else change


def _predicted(prediction: Prediction | None, metric: Metric) -> Range | None:
    found = prediction.metric(metric) if prediction is not None else None
    return found.relative if found is not None else None


def decide(trial: Trial, prediction: Prediction | None) -> Decision:
    """Keep what is shown to help and did what was predicted; anything else goes back."""
    missed = _missed(trial, prediction)
    if trial.verdict == "WIN" and missed is not None:
        return Decision(False, missed)
    return Decision(trial.won, trial.because)


def _missed(trial: Trial, prediction: Prediction | None) -> Text | None:
    """The whole measured interval lies on the bad side of the whole predicted one."""
    effect, found = trial.effect(trial.primary), _predicted(prediction, trial.primary)
    if effect is None or found is None or effect.low is None or effect.high is None:
        return None
    bad = effect.low > found.high if trial.primary in _LOWER else effect.high < found.low
    if not bad:
        return None
    seen, predicted = (
        f"{low:+.0%} … {high:+.0%}" for low, high in ((effect.low, effect.high), (found.low, found.high))
    )
    return _MISSED.format(metric=trial.primary, seen=seen, predicted=predicted)


def improvement_of(trial: Trial) -> Improvement:
    """Latency and throughput in percent."""
    return Improvement(_percent(trial.effect("e2e_mean")), _percent(trial.effect("tokens_per_s")))


def _percent(effect: Effect | None) -> Range | None:
    if effect is None or effect.low is None or effect.mid is None or effect.high is None:
        return None
    return Range(100 * effect.low, 100 * effect.mid, 100 * effect.high)
