"""Whose load it was, as tables: holders, cohorts, and what moved together. For the reader; no answer weighs them."""

from __future__ import annotations

from collections.abc import Sequence

from whystall.model.load import Cohort, Holder, Lagged, Who

from .figures import duration, number, percent
from .outline import Table
from .phrases import say
from .printable import clean


def who_table(who: Who | None, lang: str) -> Table:
    """Holders of a kind together, the largest first; the note says where they come from."""
    names = ["kind", "name", "requests", "kv", "kv_ratio", "prefill", "prefill_ratio"]
    rows = [_holder(one, lang) for one in who.holders] if who is not None else []
    kept = [at for at in range(len(names)) if any(row[at] for row in rows)]
    columns = tuple(say(f"holder_{names[at]}", lang) for at in kept)
    shown = tuple(tuple(row[at] for at in kept) for row in rows)
    return Table("who", say("who", lang), columns, shown, _who_note(who, lang) if who is not None else "")


def _holder(one: Holder, lang: str) -> tuple[str, ...]:
    return (
        say(f"holder_{one.kind}", lang),
        clean(one.name),
        number(one.requests),
        "" if one.kv_token_s is None else number(round(one.kv_token_s)),
        "" if one.kv_ratio is None else percent(one.kv_ratio),
        number(round(one.prefill_tokens)),
        percent(one.prefill_ratio),
    )


def _who_note(who: Who, lang: str) -> str:
    covered = say("who_covered", lang, ratio=percent(who.covered_ratio)) if who.covered_ratio is not None else ""
    source = say(f"who_{who.source}", lang)
    return say("who_note", lang, source=source, seconds=duration(who.window_s), covered=covered)


def cohorts_table(cohorts: Sequence[Cohort], lang: str) -> Table:
    """Shares of the requests before and during the incident, with their rates."""
    columns = tuple(say(f"cohort_{name}", lang) for name in ("what", "before", "now"))
    rows = tuple(
        (
            say(f"cohort_{one.length}", lang, range=_range(one)),
            _share(one.before_ratio, one.before_per_s, lang),
            _share(one.now_ratio, one.now_per_s, lang),
        )
        for one in cohorts
    )
    return Table("cohorts", say("cohorts", lang), columns, rows)


def _range(one: Cohort) -> str:
    return f">{one.low:,.0f}" if one.high is None else f"{one.low + 1:,.0f}–{one.high:,.0f}"


def _share(ratio: float, rate: float, lang: str) -> str:
    return say("cohort_value", lang, ratio=percent(ratio), rate=number(rate))


def lags_table(lags: Sequence[Lagged], lang: str) -> Table:
    """Signals and the losses that followed them."""
    columns = tuple(say(f"lag_{name}", lang) for name in ("signal", "loss", "after", "correlation"))
    rows = tuple(
        (clean(p.label.in_(lang)), clean(p.loss_label.in_(lang)), duration(p.lag_s), f"{p.correlation:+.2f}")
        for p in lags
    )
    return Table("lags", say("lags", lang), columns, rows, say("lags_note", lang))
