"""Two recordings or servers side by side, for a terminal, a program or a ticket."""

from __future__ import annotations

import msgspec
from rich.console import Group, RenderableType

from whystall.errors import UsageError
from whystall.model.comparison import Comparison
from whystall.model.text import Text

from .comparison_outline import answer_lines, comparison_tables, headline
from .json import to_json
from .line import Line
from .markdown import escaped, joined, section
from .phrases import say
from .printable import clean
from .text import printed, table_section

COMPARISON_FORMATS = ("text", "json", "markdown")


def render_comparison(
    comparison: Comparison, format: str, lang: str = "en", width: int | None = None, color: bool = False
) -> str:
    """``comparison`` in one of ``COMPARISON_FORMATS``.

    Raises :class:`~whystall.errors.UsageError` for a format that there is not.
    """
    if format == "json":
        return to_json(with_headlines(comparison), lang)
    if format == "markdown":
        return joined(_markdown(comparison, lang))
    if format == "text":
        return printed(Group(*_text(comparison, lang)), width or 80, color)
    raise UsageError(f"{format!r} is not a format of compare", f"Known are {', '.join(COMPARISON_FORMATS)}.")


def with_headlines(comparison: Comparison) -> Comparison:
    """The comparison with its headline, and its engines' too, in every language."""
    said = Text(headline(comparison, "en"), headline(comparison, "zh"))
    engines = tuple(with_headlines(one) for one in comparison.engines)
    return msgspec.structs.replace(comparison, headline=said, engines=engines)


def _text(comparison: Comparison, lang: str) -> list[RenderableType]:
    first, *rest = answer_lines(comparison, lang)
    parts: list[RenderableType] = [Line(first, style="bold"), *map(Line, rest)]
    for table in comparison_tables(comparison, lang):
        parts += table_section(table)
    for one in _others(comparison):
        parts += [Line(""), Line(_pair(one, lang), style="bold"), *_text(one, lang)]
    return parts


def _markdown(comparison: Comparison, lang: str) -> list[str]:
    first, *rest = map(escaped, answer_lines(comparison, lang))
    parts = ["\n".join((f"# {first}", "  \n".join(rest)))]
    for table in comparison_tables(comparison, lang):
        parts += section(table)
    for one in _others(comparison):
        parts += [f"# {escaped(_pair(one, lang))}", *_markdown(one, lang)]
    return parts


def _others(comparison: Comparison) -> tuple[Comparison, ...]:
    # The outer one is the pair that changed most: it is shown already.
    return tuple(one for one in comparison.engines if (one.a, one.b) != (comparison.a, comparison.b))


def _pair(comparison: Comparison, lang: str) -> str:
    names = (clean(side.engine.id or side.engine.model or side.engine.name) for side in (comparison.a, comparison.b))
    return say("compare_engine", lang, **dict(zip("ab", names, strict=True)))
