"""A kept change against the baseline that was saved with its case, a day later and whenever it is asked for."""

from __future__ import annotations

import math
from pathlib import Path

from whystall.cases.book import Book
from whystall.cases.coming_back import held, is_back, is_due, kept_on, opened_again
from whystall.model.case import Case
from whystall.model.diagnosis import Diagnosis
from whystall.model.fix import Rechecked
from whystall.model.recording import Recording
from whystall.model.text import Text
from whystall.model.trial import Metric, Trial
from whystall.trials.metrics import METRICS

from .first_harm import FLOORS, PLAIN
from .observed_arm import seen_block

# What a server's counters tell exactly, under a load that is the users' own.
KEPT: tuple[Metric, ...] = ("e2e_mean", "ttft_mean", "itl_mean", "tokens_per_s")
_MORE_LOAD = math.log(1.2)  # so many more tokens a second than then, and slower answers are the load's doing
_HOLDS = Text("holds: {figures}", "有效：{figures}")
_BACK = Text("came back: {headline}", "复发：{headline}")
_WORSE = Text("came back: {figures}, at no more load than then", "复发：{figures}，而负载并未增加")
_FIGURE = Text("{label} {now}, {then} when it was kept", "{label} {now}，保留时为 {then}")
_THIN = Text("too few requests for figures", "请求太少，无法给出数值")


def baseline_of(trial: Trial | None) -> dict[str, float]:
    """What the changed side had in the trial: what its case is checked against later. Seconds, tokens a second."""
    if trial is None:
        return {}
    found = ((metric, trial.effect(metric)) for metric in KEPT)
    return {metric: effect.b for metric, effect in found if effect is not None and effect.b is not None}


def recheck(
    store: Path | None, recording: Recording, diagnosis: Diagnosis | None, now: float, *, all_kept: bool = False
) -> tuple[Rechecked, ...]:
    """Look at the kept cases of the target that are due, or at all of them, and write down what was seen.

    ``diagnosis`` is of ``recording``, None where it was healthy. Raises what the book does.
    """
    if store is None or not store.exists():
        return ()
    with Book.open(store) as book:
        cases = [case for case in kept_on(book, recording.target.text) if all_kept or is_due(case, now)]
        return tuple(_looked_at(book, case, recording, diagnosis, now) for case in cases)


def _looked_at(book: Book, case: Case, recording: Recording, diagnosis: Diagnosis | None, now: float) -> Rechecked:
    figures = seen_block(recording).figures()
    text, back = _told(case, figures, diagnosis)
    book.update(opened_again(case, now, text) if back else held(case, now, text))
    return Rechecked(case.id, back, text)


def _told(case: Case, figures: dict[Metric, float | None], diagnosis: Diagnosis | None) -> tuple[Text, bool]:
    found = [(cause.id, cause.probability) for cause in diagnosis.causes] if diagnosis is not None else []
    if diagnosis is not None and diagnosis.verdict == "bottleneck" and is_back(case, found):
        return _BACK.format(headline=diagnosis.headline), True
    worse = _worse(case.baseline, figures)
    if worse:
        return _WORSE.format(figures=_in_words(case.baseline, figures, worse)), True
    return _HOLDS.format(figures=_in_words(case.baseline, figures, KEPT)), False


def _worse(then: dict[str, float], now: dict[Metric, float | None]) -> tuple[Metric, ...]:
    """Latencies that are plainly worse than then and felt; none where more is asked of the server."""
    load = now.get("tokens_per_s"), then.get("tokens_per_s")
    if not load[0] or not load[1] or math.log(load[0] / load[1]) > _MORE_LOAD:
        return ()
    return tuple(metric for metric in FLOORS if _harm(then.get(metric), now.get(metric), FLOORS[metric]) > PLAIN)


def _harm(then: float | None, now: float | None, floor: float) -> float:
    return math.log(max(now, floor) / max(then, floor)) if then and now else 0.0


def _in_words(then: dict[str, float], now: dict[Metric, float | None], metrics: tuple[Metric, ...]) -> Text:
    parts = [_one(metric, then[metric], value) for metric in metrics if metric in then and (value := now.get(metric))]
    if not parts:
        return _THIN
    return Text("; ".join(part.en for part in parts), "；".join(part.zh for part in parts))


def _one(metric: Metric, then: float, now: float) -> Text:
    entry = METRICS[metric]
    first, second = (_shown(value, entry.unit) for value in (now, then))
    return _FIGURE.format(label=entry.label, now=first, then=second)


def _shown(value: float, unit: str) -> str:
    if unit != "s":
        return f"{value:,.0f} {unit}"
    return f"{value:.3g} s" if value >= 1 else f"{1e3 * value:.3g} ms"
