"""Kept cases for a terminal or a program: the list, one case, those like it."""

from __future__ import annotations

from typing import Any

import msgspec
from rich.console import Group, RenderableType

from whystall.errors import UsageError
from whystall.model.case import Case, CaseList, SimilarCases, in_language, plain
from whystall.model.diagnosis import Tried

from .figures import day_and_clock
from .json import to_json
from .line import Line
from .markdown import escaped, joined, section
from .outline import Table
from .phrases import say
from .printable import clean
from .similar import case_title, outcome_text, similar_line, similar_table
from .text import listing, printed, table_section

CASE_FORMATS = ("text", "json", "markdown")


def render_cases(found: CaseList, format: str, lang: str = "en", width: int | None = None, color: bool = False) -> str:
    """The list in one of ``CASE_FORMATS``. Raises :class:`~whystall.errors.UsageError` for another."""
    if format == "json":
        return to_json(found, lang)
    tables = [_list(found, lang), _success(found.success, lang)]
    title = say("cases_title" if found.cases else "cases_none", lang, count=len(found.cases), store=clean(found.store))
    return _rendered(title, tables, format, width, color)


def render_similar(
    found: SimilarCases, format: str, lang: str = "en", width: int | None = None, color: bool = False
) -> str:
    """The cases like one, in one of ``CASE_FORMATS``. Raises :class:`~whystall.errors.UsageError` for another."""
    if format == "json":
        return to_json(found, lang)
    title = similar_line(found.similar, lang) or say("similar_none", lang, id=found.id)
    table = msgspec.structs.replace(similar_table(found.similar, lang), note="")
    return _rendered(title, [table], format, width, color)


def case_json(case: Case, lang: str) -> str:
    """A case as JSON of schema ``whystall.case/1``; what it holds as plain data is in ``lang`` too."""
    body: dict[str, Any] = in_language(plain(case), lang)
    return msgspec.json.format(msgspec.json.encode({"schema": body["schema"]} | body), indent=2).decode()


def _rendered(title: str, tables: list[Table], format: str, width: int | None, color: bool) -> str:
    shown = [table for table in tables if table.rows]
    if format == "markdown":
        return joined([f"# {escaped(title)}", *(part for table in shown for part in section(table))])
    if format != "text":
        raise UsageError(f"{format!r} is not a format of cases", f"Known are {', '.join(CASE_FORMATS)}.")
    parts: list[RenderableType] = [Line(title, style="bold")]
    for table in shown:
        parts += table_section(table) if table.id == "success" else listing(table)
    return printed(Group(*parts), width or 80, color)


def _list(found: CaseList, lang: str) -> Table:
    columns = ("case_id", "case_opened", "target", "case_done", "case_outcome")
    rows = tuple(
        (
            case_title(one.id, one.headline.in_(lang), one.origin == "example", lang),
            day_and_clock(one.opened),
            clean(one.target),
            clean(one.remedy_text.in_(lang)),
            outcome_text(one.outcome, lang),
        )
        for one in found.cases
    )
    return Table("cases", "", tuple(say(name, lang) for name in columns), rows)


def _success(success: dict[str, Tried], lang: str) -> Table:
    comma = say("comma", lang)
    rows = tuple(
        (clean(id), say("success_value", lang, helped=one.helped, of=one.of), comma.join(map(str, one.cases)))
        for id, one in sorted(success.items(), key=lambda pair: (-pair[1].helped / pair[1].of, -pair[1].of, pair[0]))
    )
    columns = ("change", "success_helped", "case_id")
    return Table("success", say("success", lang), tuple(say(name, lang) for name in columns), rows)
