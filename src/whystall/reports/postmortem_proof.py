"""What was done about an incident, what was predicted of it, and whether it is proven to have helped."""

from __future__ import annotations

import msgspec

from whystall.model.case import Case, prediction_of, trial_of
from whystall.model.diagnosis import Remedy
from whystall.model.prediction import Prediction, Range
from whystall.model.trial import Effect, Guard, Trial

from .figures import change, duration, figure, probability
from .outline import Fact, Table
from .outlining_tables import flags_text, kind_text, metric_title
from .phrases import say
from .printable import clean

APPLIED = ("kept", "rolled_back")


class Done(msgspec.Struct, frozen=True):
    """The remedy: a sentence, its facts, and the table of what was predicted."""

    text: str
    facts: tuple[Fact, ...] = ()
    prediction: Table | None = None
    odds: str = ""


class Proof(msgspec.Struct, frozen=True):
    """The verdict in a sentence, the effects with their intervals, and the guards."""

    text: str
    effects: Table | None = None
    guards: Table | None = None


def applied(case: Case) -> bool:
    """Whether the case says that its remedy was applied."""
    return case.remedy is not None and (case.outcome in APPLIED or any(step.id == "applied" for step in case.steps))


def done(case: Case, lang: str) -> Done:
    """What was done, or what was advised where nothing was."""
    remedy, prediction = case.remedy, prediction_of(case)
    if remedy is None:
        return Done(say("pm_nothing_done", lang))
    text = clean(remedy.text.in_(lang))
    table = _prediction(prediction, lang) if prediction else None
    odds = (
        say("pm_odds", lang, meets=probability(prediction.p_meets), harm=probability(prediction.p_harm))
        if prediction
        else ""
    )
    return Done(text if applied(case) else say("pm_advised", lang, text=text), _facts(remedy, lang), table, odds)


def proof(case: Case, after: bool, lang: str) -> Proof:
    """The trial's verdict and figures; where there was none, what that means. ``after``: a diagnosis was made afterwards."""
    trial = trial_of(case)
    if trial is None:
        why = "pm_no_proof" if not applied(case) else "pm_before_after" if after else "pm_not_tried"
        return Proof(say(why, lang))
    because = clean(trial.because.in_(lang)).rstrip(".。")
    text = say(
        "pm_trial", lang, verdict=trial.verdict, because=because, pairs=trial.pairs, seconds=duration(trial.seconds)
    )
    return Proof(text, _effects(trial, case, lang), _guards(trial, lang))


def _facts(remedy: Remedy, lang: str) -> tuple[Fact, ...]:
    pairs = (
        ("flags", flags_text(remedy, lang)),
        ("remedy_kind", kind_text(remedy, lang)),
        ("buys", clean(remedy.buys.in_(lang))),
        ("risk", clean(remedy.risk.in_(lang))),
        ("undo", clean(remedy.undo.in_(lang))),
    )
    return tuple(Fact(say(key, lang), value) for key, value in pairs if value)


def _prediction(prediction: Prediction, lang: str) -> Table | None:
    rows = tuple(
        (
            metric_title(one.id, lang),
            figure(one.now, one.unit, lang),
            figure(one.predicted.mid, one.unit, lang),
            say(
                "pm_range",
                lang,
                low=figure(one.predicted.low, one.unit, lang),
                high=figure(one.predicted.high, one.unit, lang),
            ),
        )
        for one in prediction.metrics
    )
    return _table("pm_prediction", ("figure", "pm_now", "pm_predicted", "pm_interval"), rows, lang)


def _effects(trial: Trial, case: Case, lang: str) -> Table | None:
    rows = tuple(_effect(one, _predicted(case, one.metric), lang) for one in trial.effects if one.mid is not None)
    columns: tuple[str, ...] = (
        "figure",
        "side_a",
        "side_b",
        "pm_measured",
        "pm_valid",
        "pm_predicted",
        "pm_as_predicted",
    )
    if not any(row[5] for row in rows):
        rows, columns = tuple(row[:5] for row in rows), columns[:5]
    return _table("pm_proof", columns, rows, lang)


def _predicted(case: Case, metric: str) -> Range | None:
    prediction = prediction_of(case)
    found = prediction.metric(metric) if prediction else None
    return found.relative if found else case.remedy.effect.get(metric) if case.remedy else None


def _effect(one: Effect, predicted: Range | None, lang: str) -> tuple[str, ...]:
    shown = predicted if one.scale == "relative" else None
    return (
        metric_title(one.metric, lang),
        figure(one.a, one.unit, lang),
        figure(one.b, one.unit, lang),
        _moved(one.mid, one, lang),
        say("pm_range", lang, low=_moved(one.low, one, lang), high=_moved(one.high, one, lang)),
        say("pm_range", lang, low=change(shown.low), high=change(shown.high)) if shown else "",
        say("yes" if shown.low <= (one.mid or 0.0) <= shown.high else "no", lang) if shown else "",
    )


def _moved(value: float | None, one: Effect, lang: str) -> str:
    if value is None:
        return say("not_seen", lang)
    return change(value) if one.scale == "relative" else figure(value, one.unit, lang)


def _worse(value: float, one: Guard, lang: str) -> str:
    return change(value) if one.scale == "relative" else say("pm_points", lang, n=f"{100 * value:+.2g}")


def _guards(trial: Trial, lang: str) -> Table | None:
    rows = tuple(
        (
            metric_title(one.metric, lang),
            say(f"guard_{one.verdict}", lang),
            _worse(one.margin, one, lang),
            "" if one.harm_mid is None else _worse(one.harm_mid, one, lang),
        )
        for one in trial.guards
    )
    return _table("pm_guards", ("figure", "judged", "pm_margin", "pm_worse_by"), rows, lang)


def _table(id: str, columns: tuple[str, ...], rows: tuple[tuple[str, ...], ...], lang: str) -> Table | None:
    return Table(id, say(id, lang), tuple(say(name, lang) for name in columns), rows) if rows else None
