"""A trial as one HTML file: each metric's interval drawn, tables below, no script."""

from __future__ import annotations

import functools

import msgspec
from markupsafe import Markup

from whystall import __version__
from whystall.model.text import Text
from whystall.model.trial import Effect, Trial, TrialVerdict
from whystall.trials.metrics import METRICS
from whystall.trials.rules import percent_text

from .html import asset, embedded, environment, hashed
from .json import to_json
from .trial_outline import answer_lines, trial_tables

_TONES: dict[TrialVerdict, str] = {
    "WIN": "healthy",
    "HARM": "bottleneck",
    "FUTILE": "healthy",
    "INCONCLUSIVE": "unknown",
}
_PICTURE = Text("Change of each metric, B against A", "各指标变化（B 对比 A）")
_LEAST_SPAN, _MOST_SPAN = 0.10, 1.0  # of a relative change, to either side


class Bar(msgspec.Struct, frozen=True):
    """One metric's interval: positions from 0 (left edge) to 100; ``low`` None where there is no interval.

    ``moved`` is the change in words, marked where it lies beyond the picture.
    """

    label: str
    low: float | None
    high: float | None
    mid: float
    tone: str
    moved: str


def trial_html(trial: Trial, lang: str) -> str:
    """The page. Styles are allowed by their hash, scripts not at all."""
    span = _span(trial.effects)
    style = asset("report.css") + asset("trial.css")
    first, *rest = answer_lines(trial, lang)
    return (
        environment()
        .get_template("trial.html.j2")
        .render(
            lang="zh-CN" if lang == "zh" else "en",
            version=__version__,
            policy=f"default-src 'none'; style-src '{hashed(style)}'; base-uri 'none'; form-action 'none'",
            style=Markup(style),
            tone=_TONES[trial.verdict],
            headline=first,
            lines=rest,
            picture=_PICTURE.in_(lang),
            edges=(f"-{span:.0%}", f"+{span:.0%}"),
            bars=[_bar(effect, span, lang) for effect in trial.effects if _drawn(effect)],
            tables=trial_tables(trial, lang),
            trial=embedded(to_json(trial, lang)),
        )
    )


def _drawn(effect: Effect) -> bool:
    return effect.scale == "relative" and effect.mid is not None


def _span(effects: tuple[Effect, ...]) -> float:
    """How far the picture reaches: the widest interval within reason."""
    ends = [abs(end) for e in effects if _drawn(e) for end in (e.low, e.mid, e.high) if end is not None]
    return min(max(ends, default=_LEAST_SPAN) * 1.05 + 0.01, _MOST_SPAN) if ends else _LEAST_SPAN


def _bar(effect: Effect, span: float, lang: str) -> Bar:
    place = functools.partial(_place, span=span)
    low, high = (None if end is None else place(end) for end in (effect.low, effect.high))
    mid = effect.mid or 0.0
    moved = percent_text(mid) + (" ▸" if abs(mid) > span else "")
    return Bar(METRICS[effect.metric].label.in_(lang), low, high, place(mid), _tone(effect), moved)


def _place(value: float, span: float) -> float:
    return round(50 + 50 * min(max(value / span, -1.0), 1.0), 2)


def _tone(effect: Effect) -> str:
    """Whether the whole interval is on the better side, on the worse, or on neither."""
    if effect.low is None or effect.high is None or effect.low <= 0 <= effect.high or effect.better == "neither":
        return "even"
    return "better" if (effect.high < 0) == (effect.better == "lower") else "worse"
