"""What a cause, a knob or a metric is, for a terminal, a program or a page of documentation."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.padding import Padding

from whystall.errors import UsageError
from whystall.model.explanation import CauseNote, Explanation, KnobNote, MetricNote

from .json import to_json
from .line import Line
from .markdown import escaped, facts, joined, section
from .outline import Fact, Table
from .phrases import say, say_or
from .printable import clean
from .text import facts_grid, heading, printed, table_section
from .titles import cause_title

EXPLANATION_FORMATS = ("text", "json", "markdown")


def render_explanation(
    explanation: Explanation, format: str, lang: str = "en", width: int | None = None, color: bool = False
) -> str:
    """``explanation`` in one of ``EXPLANATION_FORMATS``.

    Raises :class:`~whystall.errors.UsageError` for a format that there is not.
    """
    if format == "json":
        return to_json(explanation, lang)
    title, pairs, paragraphs, tables = _content(explanation, lang)
    if format == "markdown":
        parts = [f"# {escaped(title)}", facts(pairs)]
        parts += [part for name, text in paragraphs for part in (f"## {escaped(name)}" if name else "", escaped(text))]
        return joined(parts + [part for table in tables for part in section(table)])
    if format == "text":
        return printed(Group(*_text(title, pairs, paragraphs, tables)), width or 80, color)
    raise UsageError(f"{format!r} is not a format of explain", f"Known are {', '.join(EXPLANATION_FORMATS)}.")


Content = tuple[str, tuple[Fact, ...], list[tuple[str, str]], list[Table]]


def _content(explanation: Explanation, lang: str) -> Content:
    """Title, facts, paragraphs (heading, text) and tables."""
    if explanation.cause is not None:
        return _cause(explanation.cause, lang)
    if explanation.metric is not None:
        return _metric(explanation.metric, lang)
    if explanation.knob is not None:
        return _knob(explanation.knob, lang)
    raise UsageError(f"nothing is known of {explanation.word!r}", "Run: whystall explain CAUSE, KNOB or METRIC")


def _text(
    title: str, pairs: tuple[Fact, ...], paragraphs: list[tuple[str, str]], tables: list[Table]
) -> list[RenderableType]:
    parts: list[RenderableType] = [Line(title, style="bold"), facts_grid(pairs)]
    for name, text in paragraphs:
        parts += [heading(name) if name else Line(""), Padding(Line(text), (0, 0, 0, 2 if name else 0))]
    return parts + [part for table in tables for part in table_section(table)]


def _cause(cause: CauseNote, lang: str) -> Content:
    settled = ", ".join(say_or(f"signal_{signal}", signal, lang) for signal in cause.settled_by)
    pairs = (
        ("role", say(f"role_{cause.role}", lang)),
        ("explain_limit", cause.limit or ""),
        ("explain_settled_by", settled),
        ("explain_healthy", say("yes", lang) if cause.healthy_too else ""),
    )
    paragraphs = [
        ("", cause.what.in_(lang)),
        (say("explain_predicts", lang), cause.predicts.in_(lang)),
        (say("explain_first_step", lang), cause.first_step.in_(lang)),
    ]
    title = f"{cause.title.in_(lang)} ({cause.id})"
    tables = [_steps(cause, lang), _look_alikes(cause, lang), _weights(cause, lang)]
    return title, _facts(pairs, lang), paragraphs, [table for table in tables if table.rows]


def _metric(metric: MetricNote, lang: str) -> Content:
    pairs = (("explain_type", metric.type), ("explain_unit", metric.unit))
    rows = tuple((name.name, name.since, name.until) for name in metric.names)
    names = _table("explain_names", ("name", "explain_since", "explain_until"), rows, lang)
    title = f"{metric.name} ({say('explain_metric', lang)})"
    return title, _facts(pairs, lang), [("", metric.what.in_(lang))], [names]


def _knob(knob: KnobNote, lang: str) -> Content:
    pairs = (
        ("knob_group", say(f"knob_group_{knob.group}", lang)),
        ("knob_takes", say(f"knob_takes_{knob.kind}", lang)),
        ("knob_legal", knob.legal),
        ("knob_restart", say("yes" if knob.restart else "no", lang)),
    )
    turns = knob.kind in ("whole", "number")
    up, down = ("knob_raise", "knob_lower") if turns else ("knob_on", "knob_off")
    up = up if turns or knob.kind == "switch" else "knob_effect"
    paragraphs = [("", knob.what.in_(lang)), (say(up, lang), knob.up.in_(lang)), (say(down, lang), knob.down.in_(lang))]
    undo = [] if knob.removed else [(say("undo", lang), knob.undo.in_(lang))]
    tables = [_flags(knob, lang), *_knob_tables(knob, lang)]
    title = f"{knob.flags[0].flag} ({knob.id})" + (f": {say('knob_removed', lang)}" if knob.removed else "")
    told = [pair for pair in (*paragraphs, *undo) if pair[1]]
    return title, _facts(pairs, lang), told, [table for table in tables if table.rows]


def _flags(knob: KnobNote, lang: str) -> Table:
    rows = tuple((", ".join(f for f in (one.flag, one.off) if f), one.since, one.until) for one in knob.flags)
    return _told("knob_flags", ("flags", "explain_since", "explain_until"), rows, lang)


def _knob_tables(knob: KnobNote, lang: str) -> list[Table]:
    defaults = tuple((one.value, one.when.in_(lang), one.since, one.until) for one in knob.defaults)
    raising = tuple((say(f"knob_moves_{name}", lang), say(f"knob_{way}", lang)) for name, way in knob.raising.items())
    treats = tuple(
        (f"{cause_title(id, lang)} ({id})", say(f"knob_move_{way}", lang)) for id, way in knob.treats.items()
    )
    folk = tuple((one.claim.in_(lang), one.wrong.in_(lang)) for one in knob.folk)
    return [
        _told("knob_defaults", ("value", "knob_where", "explain_since", "explain_until"), defaults, lang),
        _told("knob_rules", ("knob_rule",), tuple((rule.in_(lang),) for rule in knob.rules), lang),
        _told("knob_raising", ("name", "effect"), raising, lang),
        _told("knob_treats", ("cause", "change"), treats, lang),
        _told("knob_folk", ("claim", "because"), folk, lang),
    ]


def _told(title: str, columns: tuple[str, ...], rows: tuple[tuple[str, ...], ...], lang: str) -> Table:
    """A table without the columns in which nothing stands."""
    kept = [at for at in range(len(columns)) if at == 0 or any(row[at] for row in rows)]
    shown = tuple(tuple(row[at] for at in kept) for row in rows)
    return _table(title, tuple(columns[at] for at in kept), shown, lang)


def _facts(pairs: tuple[tuple[str, str], ...], lang: str) -> tuple[Fact, ...]:
    return tuple(Fact(say(key, lang), clean(value)) for key, value in pairs if value)


def _table(title: str, columns: tuple[str, ...], rows: tuple[tuple[str, ...], ...], lang: str) -> Table:
    return Table(title, say(title, lang), tuple(say(column, lang) for column in columns), rows)


def _steps(cause: CauseNote, lang: str) -> Table:
    rows = []
    for step in cause.steps:
        claim = step.claim.in_(lang)
        shown = say("explain_optional", lang, claim=claim) if step.optional else claim
        if step.rejects:
            rejects = say("rejects", lang, what=step.rejects.in_(lang))
            shown = say("explain_rejects", lang, claim=shown, rejects=rejects)
        rows.append((shown, ", ".join(step.evidence)))
    return _table("explain_chain", ("explain_step", "explain_check"), tuple(rows), lang)


def _look_alikes(cause: CauseNote, lang: str) -> Table:
    rows = tuple(
        (f"{cause_title(one.cause, lang)} ({one.cause})", one.told_apart_by.in_(lang)) for one in cause.look_alikes
    )
    return _table("explain_look_alikes", ("cause", "explain_told_apart"), rows, lang)


def _weights(cause: CauseNote, lang: str) -> Table:
    ordered = sorted(cause.weights.items(), key=lambda pair: -pair[1])
    rows = tuple((name, f"{weight:+g}") for name, weight in ordered)
    return _table("explain_weights", ("evidence", "explain_weight"), rows, lang)
