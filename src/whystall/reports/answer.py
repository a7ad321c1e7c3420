"""The answer in three lines: what binds, since when and what set it off, what to do first."""

from __future__ import annotations

from whystall.model.diagnosis import Cause, Diagnosis, Onset

from .figures import clock, duration
from .outline import Answer
from .phrases import say
from .printable import clean
from .titles import cause_first_step, cause_title

MARKS = {"healthy": "✔", "bottleneck": "✘", "unknown": "?"}


def answer(diagnosis: Diagnosis, lang: str) -> Answer:
    """The three lines of ``diagnosis``."""
    stop = "。" if lang == "zh" else "."
    word = say(diagnosis.verdict, lang)
    return Answer(
        verdict=diagnosis.verdict,
        mark=MARKS[diagnosis.verdict],
        word=word,
        headline=_headline(diagnosis, word, lang),
        since=_since(diagnosis, lang) + stop,
        first=say("do_first", lang) + say("colon", lang) + _first_step(diagnosis, lang),
    )


def _headline(diagnosis: Diagnosis, word: str, lang: str) -> str:
    """The headline without the verdict's word in front, which stands there already."""
    text, prefix = clean(diagnosis.headline.in_(lang)), word + say("colon", lang)
    rest = text[len(prefix) :]
    return rest[:1].upper() + rest[1:] if rest and text.casefold().startswith(prefix.casefold()) else text


def onset_text(onset: Onset | None, lang: str) -> str:
    if onset is None:
        return say("from_the_start", lang)
    return say("onset_value", lang, at=duration(onset.seconds), low=duration(onset.low), high=duration(onset.high))


def _since(diagnosis: Diagnosis, lang: str) -> str:
    window = diagnosis.window
    if diagnosis.verdict != "bottleneck" or not diagnosis.causes:
        if window.seconds <= 0:
            return say("one_scrape" if window.scrapes else "nothing_scraped", lang)
        seconds = duration(window.seconds)
        return say("looked_at", lang, seconds=seconds, start=clock(window.start), end=clock(window.end))
    joint = "；" if lang == "zh" else "; "
    return joint.join((_when(diagnosis, lang), _set_off(diagnosis.causes, lang)))


def _when(diagnosis: Diagnosis, lang: str) -> str:
    leading = leading_cause(diagnosis.causes)
    onset = leading.onset if leading else None
    if onset is None:
        return say("since_start", lang)
    values = {"at": onset.seconds, "low": onset.low, "high": onset.high}
    texts = {name: duration(value) for name, value in values.items()}
    return say("since", lang, clock=clock(diagnosis.window.start + onset.seconds), **texts)


def leading_cause(causes: tuple[Cause, ...]) -> Cause | None:
    """The cause whose onset the answer gives: the trigger where one was seen, else the first."""
    # The limit was reached later than the trigger, because of it.
    trigger = _trigger(causes)
    return trigger if trigger and trigger.onset else next(iter(causes), None)


def _trigger(causes: tuple[Cause, ...]) -> Cause | None:
    # One that is more likely than not; a trigger with a lesser chance set nothing off as far as we can tell.
    return next((cause for cause in causes if cause.role == "trigger" and cause.probability >= 0.5), None)


def _set_off(causes: tuple[Cause, ...], lang: str) -> str:
    trigger = _trigger(causes)
    if trigger is None:
        return say("no_trigger", lang)
    return say("set_off_by", lang, what=_inside(cause_title(trigger.id, lang)))


def _inside(title: str) -> str:
    """A title inside a sentence: "Bursts of requests" loses its capital, "KV cache too small" does not."""
    return title[0].lower() + title[1:] if title[1:2].islower() else title


def _first_step(diagnosis: Diagnosis, lang: str) -> str:
    if diagnosis.verdict == "healthy":
        return say("nothing_to_do", lang)
    if diagnosis.remedies:
        first = diagnosis.remedies[0]
        restart = say("needs_restart", lang)
        tail = (f"（{restart}）" if lang == "zh" else f" ({restart})") if first.restart else ""
        return clean(first.text.in_(lang)).rstrip(".。" if tail else "") + tail
    if diagnosis.verdict == "unknown":
        missing = diagnosis.coverage.missing
        return clean(missing[0].how.in_(lang)) if missing else say("watch_longer", lang)
    step = cause_first_step(diagnosis.causes[0].id, lang) if diagnosis.causes else ""
    return step or say("run_explain", lang, id=clean(diagnosis.causes[0].id) if diagnosis.causes else "")
