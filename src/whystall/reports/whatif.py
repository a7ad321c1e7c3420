"""What a change would do, for a terminal, a program or a ticket."""

from __future__ import annotations

import msgspec
from rich.console import Group, RenderableType

from whystall.errors import UsageError
from whystall.model.prediction import Advice, Interval, NotPredicted, PredictedMetric, Prediction, Range, WhatIf
from whystall.model.text import Text

from .figures import clock, duration, figure
from .json import to_json
from .line import Line
from .markdown import escaped, joined, section
from .outline import Table
from .printable import clean
from .text import printed, table_section
from .whatif_phrases import WHATIF_PHRASES

WHATIF_FORMATS = ("text", "json", "markdown")
_UNITS = {"s": "s", "tok/s": "tok/s", "req/s": "1/s", "ratio": "ratio", "1/s": "1/s"}
_BEST: dict[Advice, int] = {"recommend": 0, "canary": 1, "no": 2}


def render_whatif(whatif: WhatIf, format: str, lang: str = "en", width: int | None = None, color: bool = False) -> str:
    """``whatif`` in one of ``WHATIF_FORMATS``.

    Raises :class:`~whystall.errors.UsageError` for a format that there is not.
    """
    if format == "json":
        said = Text(headline(whatif, "en"), headline(whatif, "zh"))
        return to_json(msgspec.structs.replace(whatif, headline=said), lang)
    lines, tables = answer_lines(whatif, lang), whatif_tables(whatif, lang)
    if format == "markdown":
        first, *rest = map(escaped, lines)
        parts = ["\n".join((f"# {first}", "  \n".join(rest)))]
        return joined(parts + [part for table in tables for part in section(table)])
    if format == "text":
        parts_: list[RenderableType] = [Line(lines[0], style="bold"), *map(Line, lines[1:])]
        return printed(Group(*parts_, *(part for t in tables for part in table_section(t))), width or 80, color)
    raise UsageError(f"{format!r} is not a format of whatif", f"Known are {', '.join(WHATIF_FORMATS)}.")


def headline(whatif: WhatIf, lang: str) -> str:
    """The advice on the one change, or on the best of several."""
    best = best_of(whatif)
    if best is None:
        why = whatif.not_predicted[0].because.in_(lang) if whatif.not_predicted else ""
        return _say("none", lang, because=clean(why))
    words = {"change": change_text(best, lang), "advice": _say(f"advice_{best.advice}", lang)}
    words["because"] = clean(best.because.in_(lang))
    count = len(whatif.predictions)
    return _say("best", lang, count=count, **words) if count > 1 else _say("headline", lang, **words)


def best_of(whatif: WhatIf) -> Prediction | None:
    """The prediction with the best advice; of equals the one that is surest to help and not to harm, then
    the one whose slowest requests end first."""
    if not whatif.predictions:
        return None
    return min(
        whatif.predictions, key=lambda one: (_BEST[one.advice], round(one.p_harm - one.p_meets, 1), _slowest(one))
    )


def _slowest(one: Prediction) -> float:
    metric = one.metric("e2e_p95")
    return metric.predicted.mid if metric else 0.0


def answer_lines(whatif: WhatIf, lang: str) -> list[str]:
    """Advice, what binds next, and what it rests on."""
    best = best_of(whatif)
    lines = [headline(whatif, lang)]
    if best is not None:
        what = clean(best.binds_next.text.in_(lang))
        lines.append(_say("binds" if best.binds_next.id else "nothing_binds", lang, what=_after_colon(what, best)))
        lines.append(_say("note", lang, draws=best.draws, profile=clean(best.profile.text.in_(lang))))
    return lines


def _after_colon(text: str, prediction: Prediction) -> str:
    """The part that says how much, where nothing binds: the line says that already."""
    if prediction.binds_next.id:
        return text
    return text.partition("：")[2] or text.partition(": ")[2] or text


def whatif_tables(whatif: WhatIf, lang: str) -> list[Table]:
    """The metrics of the change (of several: of the best, after a table of all), warnings, what was not predicted."""
    best = best_of(whatif)
    tables = [_changes(whatif, lang)] if len(whatif.predictions) > 1 else []
    if best is not None:
        tables += [_metrics(best, lang), _warnings(best, lang)]
    return [table for table in (*tables, _not_predicted(whatif, lang)) if table.rows]


def _changes(whatif: WhatIf, lang: str) -> Table:
    names = ("change", "ttft_p95", "itl_p95", "tokens_per_s", "meets", "harm", "advice", "next")
    columns = tuple(_say(n, lang) if n != "change" else "" for n in names)
    return Table("changes", _say("changes", lang), columns, tuple(_row(one, lang) for one in whatif.predictions))


def _row(one: Prediction, lang: str) -> tuple[str, ...]:
    metrics = [one.metric(name) for name in ("ttft_p95", "itl_p95", "tokens_per_s")]
    cells = [figure(m.predicted.mid, _UNITS[m.unit], lang) if m else "" for m in metrics]
    chances = (f"{one.p_meets:.0%}", f"{one.p_harm:.0%}")
    return (change_text(one, lang), *cells, *chances, _say(f"advice_{one.advice}", lang), one.binds_next.id or "–")


def _metrics(one: Prediction, lang: str) -> Table:
    columns = tuple(_say(name, lang) for name in ("metric", "now", "predicted", "interval", "relative"))
    rows = tuple(_metric(metric, lang) for metric in one.metrics)
    words = {"change": change_text(one, lang), "seconds": duration(one.seconds), "start": clock(one.start)}
    return Table("metrics", _say("table", lang, **words), columns, rows)


def _metric(metric: PredictedMetric, lang: str) -> tuple[str, ...]:
    unit, values = _UNITS[metric.unit], metric.predicted
    now = figure(metric.now, unit, lang) if metric.now is not None else _say("not_seen", lang)
    low, mid, high = (figure(v, unit, lang) for v in (values.low, values.mid, values.high))
    relative = _relative(metric.relative) if metric.relative else _points(metric, values)
    return (_say(metric.id, lang), now, mid, _say("to", lang, low=low, high=high), relative)


def _relative(change: Range) -> str:
    return f"×{1 + change.mid:.3g}" if change.mid > 2 else f"{change.mid:+.0%}"


def _points(metric: PredictedMetric, values: Interval) -> str:
    if metric.unit != "ratio" or metric.now is None:
        return ""
    return f"{100 * (values.mid - metric.now):+.0f} pp"


def _warnings(one: Prediction, lang: str) -> Table:
    return Table("warnings", _say("warnings", lang), ("",), tuple((clean(text.in_(lang)),) for text in one.warnings))


def _not_predicted(whatif: WhatIf, lang: str) -> Table:
    rows = tuple((change_text(one, lang), clean(one.because.in_(lang))) for one in whatif.not_predicted)
    return Table("not_predicted", _say("not_predicted", lang), ("", _say("because", lang)), rows)


def change_text(one: Prediction | NotPredicted, lang: str) -> str:
    """The change as one types it."""
    flags = [_flag(clean(flag), clean(value), lang) for flag, value in one.change.items()]
    return " ".join([*flags, *(f"{clean(name)}={clean(value)}" for name, value in one.assume.items())])


def _flag(flag: str, value: str, lang: str) -> str:
    if not value:
        return _say("removed", lang, flag=flag)
    return flag if value == "true" else f"{flag} {value}"


def _say(key: str, lang: str, **values: object) -> str:
    return WHATIF_PHRASES[key].format(**values).in_(lang)
