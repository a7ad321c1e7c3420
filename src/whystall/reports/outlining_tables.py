"""The plain tables of a report: those that are rows of text and nothing more."""

from __future__ import annotations

from whystall.model.diagnosis import Diagnosis, Identity, Remedy

from .answer import restart_note
from .figures import change, number, seen
from .load_tables import cohorts_table, lags_table, who_table
from .outline import Table
from .outlining_causes import limit_source
from .phrases import say, say_or
from .printable import clean
from .similar import similar_table, tried_text
from .titles import cause_title
from .whatif_phrases import WHATIF_PHRASES

TELLING = ("ttft_p95", "itl_p95", "tokens_per_s")  # of a prediction's metrics, those that stand beside a remedy


def tables(diagnosis: Diagnosis, lang: str) -> tuple[Table, ...]:
    """The tables that have something to say, in reading order."""
    every = (
        _remedies(diagnosis, lang),
        _not_offered(diagnosis, lang),
        similar_table(diagnosis.similar, lang),
        ruled_out_table(diagnosis, lang),
        who_table(diagnosis.who, lang),
        cohorts_table(diagnosis.cohorts, lang),
        lags_table(diagnosis.lags, lang),
        _limits(diagnosis, lang),
        _identities(diagnosis, lang),
        _missing(diagnosis, lang),
        _warnings(diagnosis, lang),
    )
    return tuple(table for table in every if table.rows)


def _table(id: str, lang: str, columns: tuple[str, ...], rows: list[tuple[str, ...]]) -> Table:
    # A column in which nothing stands would only take room.
    kept = [at for at in range(len(columns)) if at == 0 or any(row[at] for row in rows)]
    shown = tuple(tuple(row[at] for at in kept) for row in rows)
    return Table(id, say(id, lang), tuple(say(columns[at], lang) for at in kept), shown)


def ruled_out_table(diagnosis: Diagnosis, lang: str) -> Table:
    """What it is not, and the number that says so."""
    # One number often rules out several causes: they share a row.
    causes: dict[str, list[str]] = {}
    for one in diagnosis.ruled_out:
        causes.setdefault(clean(one.because.in_(lang)), []).append(cause_title(one.id, lang))
    comma = say("comma", lang)
    rows: list[tuple[str, ...]] = [(comma.join(titles), because) for because, titles in causes.items()]
    return _table("ruled_out", lang, ("cause", "because"), rows)


def _remedies(diagnosis: Diagnosis, lang: str) -> Table:
    rows = [_remedy(remedy, lang) for remedy in diagnosis.remedies]
    return _table("remedies", lang, ("change", "flags", "remedy_kind", "buys", "effect", "tried", "risk", "undo"), rows)


def _not_offered(diagnosis: Diagnosis, lang: str) -> Table:
    found = {one.claim.en: one for remedy in diagnosis.remedies for one in remedy.not_offered}
    rows: list[tuple[str, ...]] = [(clean(o.claim.in_(lang)), clean(o.because.in_(lang))) for o in found.values()]
    return _table("not_offered", lang, ("claim", "because"), rows)


def _remedy(remedy: Remedy, lang: str) -> tuple[str, ...]:
    text = clean(remedy.text.in_(lang))
    note = restart_note(remedy, lang)
    shown = text.rstrip(".。") if note else text
    words = (remedy.buys, remedy.risk, remedy.undo)
    buys, risk, undo = (clean(text.in_(lang)) for text in words)
    return (
        shown + note,
        flags_text(remedy, lang),
        kind_text(remedy, lang),
        buys,
        effect_text(remedy, lang),
        tried_text(remedy.tried, lang),
        risk,
        undo,
    )


def effect_text(remedy: Remedy, lang: str) -> str:
    """What it would do, as far as somebody computed it; of a prediction the advice and the metrics that tell it, else
    why there is none.
    """
    shown = {name: r for name, r in remedy.effect.items() if remedy.prediction is None or name in TELLING}
    effects = [
        say("effect_value", lang, name=metric_title(name, lang), **_range(low=r.low, mid=r.mid, high=r.high))
        for name, r in shown.items()
    ]
    if remedy.prediction is not None:
        effects.insert(0, WHATIF_PHRASES[f"advice_{remedy.prediction.advice}"].in_(lang))
    elif remedy.not_predicted is not None and (remedy.change or remedy.assume):
        effects.append(say("not_predicted", lang, why=clean(remedy.not_predicted.in_(lang))))
    return say("comma", lang).join(effects)


def flags_text(remedy: Remedy, lang: str) -> str:
    """The flags as one types them, "" where it is none: a switch stands without its value, what goes is said in words."""
    return " ".join(_flag(clean(flag), clean(value), lang) for flag, value in remedy.change.items())


def _flag(flag: str, value: str, lang: str) -> str:
    if not value:
        return say("flag_removed", lang, flag=flag)
    return flag if value == "true" else f"{flag} {value}"


def kind_text(remedy: Remedy, lang: str) -> str:
    """Real fix or not, and who makes the change; "" for a remedy that was not chosen for this server."""
    if not remedy.buys.en:
        return ""
    aim = say(f"kind_{remedy.aim}", lang)
    return aim + say("comma", lang) + say(f"kind_{remedy.kind}", lang)


def _range(**ratios: float) -> dict[str, str]:
    return {name: change(ratio) for name, ratio in ratios.items()}


def metric_title(name: str, lang: str) -> str:
    """What a metric of a prediction or a trial is called: ttft_p95 is TTFT p95, as the impact section has it."""
    head, _, tail = clean(name).partition("_")
    return say_or(
        name, f"{head.upper() if len(head) <= 4 else head.capitalize()} {tail}".strip().replace("_", " "), lang
    )


def _limits(diagnosis: Diagnosis, lang: str) -> Table:
    rows: list[tuple[str, ...]] = [
        (clean(limit.name), number(limit.value), say(limit.known, lang), limit_source(limit, lang))
        for limit in diagnosis.limits
    ]
    return _table("limits", lang, ("name", "value", "known", "from"), rows)


def _identities(diagnosis: Diagnosis, lang: str) -> Table:
    rows = [_identity(identity, lang) for identity in diagnosis.identities]
    return _table("identities", lang, ("name", "law", "value", "agrees"), rows)


def _identity(identity: Identity, lang: str) -> tuple[str, ...]:
    law = clean(identity.text.in_(lang)) or say_or(f"law_{identity.id}", "", lang)
    value = f"{identity.value:.3f}" if identity.value is not None and seen(identity.value) else say("not_seen", lang)
    agrees = {True: "✔ " + say("yes", lang), False: "✘ " + say("no", lang), None: "– " + say("not_testable", lang)}
    return (clean(identity.id), law, value, agrees[identity.holds])


def _missing(diagnosis: Diagnosis, lang: str) -> Table:
    rows: list[tuple[str, ...]] = [
        (
            say_or(f"signal_{one.signal}", clean(one.signal), lang),
            say("comma", lang).join(cause_title(cause, lang) for cause in one.would_settle),
            clean(one.how.in_(lang)),
        )
        for one in diagnosis.coverage.missing
    ]
    return _table("missing", lang, ("missing", "would_settle", "how"), rows)


def _warnings(diagnosis: Diagnosis, lang: str) -> Table:
    rows: list[tuple[str, ...]] = [(clean(one.id), clean(one.text.in_(lang))) for one in diagnosis.warnings]
    return _table("warnings", lang, ("name", "statement"), rows)
