"""Comparison -> its three lines and its tables, in one language."""

from __future__ import annotations

from whystall.evidence.comparison import most_changed
from whystall.model.comparison import Comparison, Departure, FigureChange, SettingChange, Side

from .figures import clock, day_and_clock, duration, figure
from .outline import Table
from .phrases import say
from .printable import clean
from .titles import cause_title

GROUPS = ("workload", "latency", "throughput", "saturation", "host", "gpu", "client")
MOST_NAMED = 3
MOST_OF_A_VALUE = 30  # characters in the answer; the table has it whole
MOST_RATIO = 1000


def answer_lines(comparison: Comparison, lang: str) -> tuple[str, str, str]:
    """What changed most, what changed first, and which settings differ."""
    return headline(comparison, lang), _order(comparison, lang), _settings(comparison, lang)


def headline(comparison: Comparison, lang: str) -> str:
    """The figure that changed most, of those of which one can say better or worse."""
    worst = most_changed(comparison.figures)
    if worst is None:
        return say("compare_same", lang)
    said = {"label": worst.label.in_(lang), "times": _times(worst)}
    said |= {"a": figure(worst.a, worst.unit, lang), "b": figure(worst.b, worst.unit, lang)}
    return say("compare_most_times" if worst.ratio else "compare_most", lang, **said)


def comparison_tables(comparison: Comparison, lang: str) -> list[Table]:
    """All tables that have a row."""
    tables = [_sides(comparison, lang), _settings_table(comparison.configuration, lang)]
    tables += [_figures(group, comparison, lang) for group in GROUPS]
    tables.append(_departures(comparison, lang))
    tables.append(_suspects(comparison, lang))
    return [table for table in tables if table.rows]


def _suspects(comparison: Comparison, lang: str) -> Table:
    rows = tuple((cause_title(one.cause, lang), clean(one.because.in_(lang))) for one in comparison.suspects)
    columns = (say("cause", lang), say("because", lang))
    return Table("suspects", say("compare_suspects", lang), columns, rows)


def _order(comparison: Comparison, lang: str) -> str:
    later = [one for one in comparison.departures if one.onset is not None]
    first = [one.label.in_(lang) for one in comparison.departures if one.onset is None]
    outside = say("compare_outside", lang, labels=_listed(first, lang)) if first else ""
    if not later:
        return outside[:1].upper() + outside[1:] if outside else say("compare_none_left", lang)
    named = [_at(one, lang) for one in later]
    rest = say("compare_then", lang, rest=_listed(named[1:], lang)) if named[1:] else ""
    return say("compare_order", lang, first=named[0], then=rest)


def _at(departure: Departure, lang: str) -> str:
    at = duration(departure.onset.seconds) if departure.onset else ""
    return say("compare_at", lang, label=departure.label.in_(lang), at=at)


def _listed(names: list[str], lang: str) -> str:
    shown, rest = names[:MOST_NAMED], len(names) - MOST_NAMED
    comma = "、" if lang == "zh" else ", "
    return comma.join([*shown, say("more", lang, count=rest)] if rest > 0 else shown)


def _settings(comparison: Comparison, lang: str) -> str:
    if not comparison.configuration:
        return say("compare_settings_same", lang)
    named = [
        f"{clean(one.name)} {_brief(_set(one.a, lang))} → {_brief(_set(one.b, lang))}"
        for one in comparison.configuration
    ]
    return say("compare_settings", lang, settings=_listed(named, lang))


def _brief(value: str) -> str:
    return value if len(value) <= MOST_OF_A_VALUE else value[: MOST_OF_A_VALUE - 1] + "…"


def _set(value: str | None, lang: str) -> str:
    return say("compare_not_set", lang) if value is None else clean(value)


def _sides(comparison: Comparison, lang: str) -> Table:
    rows = tuple(_side(name, side, lang) for name, side in (("side_a", comparison.a), ("side_b", comparison.b)))
    columns = ("", say("target", lang), say("engine", lang), say("model", lang), say("window", lang))
    return Table("sides", say("compare_sides", lang), columns, rows)


def _side(name: str, side: Side, lang: str) -> tuple[str, ...]:
    version = clean(side.engine.version) or say("version_unknown", lang)
    window = f"{day_and_clock(side.window.start)} +{duration(side.window.seconds)}"
    return (
        say(name, lang),
        clean(side.target),
        f"{clean(side.engine.name)} {version}",
        clean(side.engine.model),
        window,
    )


def _settings_table(changes: tuple[SettingChange, ...], lang: str) -> Table:
    rows = tuple(
        (clean(one.name), say(f"kind_{one.kind}", lang), _set(one.a, lang), _set(one.b, lang)) for one in changes
    )
    columns = tuple(say(name, lang) for name in ("name", "compare_kind", "side_a", "side_b"))
    return Table("configuration", say("compare_configuration", lang), columns, rows)


def _figures(group: str, comparison: Comparison, lang: str) -> Table:
    rows = tuple(_figure(one, lang) for one in comparison.figures if one.group == group)
    columns = tuple(say(name, lang) for name in ("figure", "side_a", "side_b", "times", "judged"))
    return Table(group, say(f"group_{group}", lang), columns, rows)


def _figure(change: FigureChange, lang: str) -> tuple[str, ...]:
    sides = (figure(value, change.unit, lang) for value in (change.a, change.b))
    return (change.label.in_(lang), *sides, _times(change), say(f"judged_{_judged(change)}", lang))


def _judged(change: FigureChange) -> str:
    if change.a is None or change.b is None:
        return "one_side"
    if not change.differs:
        return "same"
    if change.better == "neither":
        return "differs"
    return "better" if (change.b < change.a) == (change.better == "lower") else "worse"


def _times(change: FigureChange) -> str:
    if not change.ratio:
        return ""
    return f">{MOST_RATIO:,}×" if change.ratio > MOST_RATIO else f"{change.ratio:.3g}×"


def _departures(comparison: Comparison, lang: str) -> Table:
    rows = tuple(_departure(one, comparison.b, lang) for one in comparison.departures)
    columns = tuple(say(name, lang) for name in ("figure", "compare_when"))
    return Table("departures", say("compare_departures", lang), columns, rows)


def _departure(one: Departure, side: Side, lang: str) -> tuple[str, ...]:
    if one.onset is None:
        return (one.label.in_(lang), say("compare_from_start", lang))
    return (one.label.in_(lang), f"{duration(one.onset.seconds)} · {clock(side.window.start + one.onset.seconds)}")
