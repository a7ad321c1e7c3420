"""The answer in three lines: what binds, since when and what set it off, what to do first."""

from __future__ import annotations

from whystall.model.diagnosis import Cause, Diagnosis, Onset, Remedy
from whystall.model.duration import plain

from .figures import clock, duration
from .outline import Answer
from .phrases import say
from .printable import clean
from .titles import cause_first_step, cause_title

LIKELY = 0.5
SURE = 0.5
CHANGES = {"prompts.longer": "prompts_grew", "outputs.longer": "outputs_grew", "requests.more": "more_came"}
SHORT_S = 15.0  # below it more of the same tells more than another signal would
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
        note=_note(diagnosis, lang),
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
    parts = (_when(diagnosis, lang), _set_off(diagnosis, lang))
    return joint.join(part for part in parts if part)


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
    return next((cause for cause in causes if cause.role == "trigger" and cause.probability >= LIKELY), None)


def _set_off(diagnosis: Diagnosis, lang: str) -> str:
    causes = diagnosis.causes
    trigger = _trigger(causes)
    if trigger is None:
        return _changed(diagnosis, lang) or say("no_trigger", lang)
    if trigger is not causes[0]:
        return say("set_off_by", lang, what=_inside(cause_title(trigger.id, lang)))
    # The headline names it already: what is left to say is where it led.
    limit = next((cause for cause in causes if cause.role == "limit" and cause.probability >= LIKELY), None)
    return say("led_to", lang, what=_inside(cause_title(limit.id, lang))) if limit else ""


def _changed(diagnosis: Diagnosis, lang: str) -> str:
    """What is new since the onset although no cause of the catalogue bears its name; "" where nothing is."""
    times = {e.id: e.value for e in diagnosis.evidence if e.anomaly and e.strength >= SURE and e.value is not None}
    # A crowd is no cause of the catalogue, the limit that it met is; it did set it off.
    if "requests.surge" in times:
        return say("set_off_surge", lang, times=plain(times["requests.surge"], 2))
    changed = next((name for name in CHANGES if name in times), None)
    return say(CHANGES[changed], lang, times=plain(times[changed], 2)) if changed else ""


def _inside(title: str) -> str:
    """A title inside a sentence: "Bursts of requests" loses its capital, "KV cache too small" does not."""
    return title[0].lower() + title[1:] if title[1:2].islower() else title


def _note(diagnosis: Diagnosis, lang: str) -> str:
    if diagnosis.verdict == "healthy" or not diagnosis.remedies:
        return ""
    return restart_note(diagnosis.remedies[0], lang)


def restart_note(remedy: Remedy, lang: str) -> str:
    """The note where the remedy needs one and its text does not say so itself."""
    said = "restart" in remedy.text.en or "重启" in remedy.text.zh
    return say("restart_note", lang) if remedy.restart and not said else ""


def _first_step(diagnosis: Diagnosis, lang: str) -> str:
    if diagnosis.verdict == "healthy":
        return say("nothing_to_do", lang)
    if diagnosis.remedies:
        first = diagnosis.remedies[0]
        text = clean(first.text.in_(lang))
        return text.rstrip(".。") if restart_note(first, lang) else text
    if diagnosis.verdict == "unknown":
        if diagnosis.window.seconds < SHORT_S:
            return say("watch_longer", lang)
        missing = diagnosis.coverage.missing
        return clean(missing[0].how.in_(lang)) if missing else say("watch_longer", lang)
    step = cause_first_step(diagnosis.causes[0].id, lang) if diagnosis.causes else ""
    return step or say("run_explain", lang, id=clean(diagnosis.causes[0].id) if diagnosis.causes else "")
