"""A post-mortem in the terminal and as Markdown."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.padding import Padding

from whystall.errors import UsageError
from whystall.model.case import Case

from .line import Line
from .markdown import code, escaped, facts, grid, joined, worded
from .outline import Table, WhyRow
from .phrases import say
from .postmortem import Postmortem, postmortem
from .text import VERDICT_STYLES, facts_grid, heading, printed, table_section, worded_section

POSTMORTEM_FORMATS = ("markdown", "html", "text")


def render_postmortem(case: Case, format: str, lang: str = "en", width: int | None = None, color: bool = False) -> str:
    """The post-mortem of ``case`` in one of ``POSTMORTEM_FORMATS``. Raises UsageError for a format that there is not."""
    page = postmortem(case, lang)
    if format == "markdown":
        return joined(_markdown(page))
    if format == "html":
        from .postmortem_html import postmortem_html  # only when it is asked for: it brings jinja2

        return postmortem_html(page)
    if format == "text":
        return printed(Group(*_text(page)), width or 80, color)
    raise UsageError(f"{format!r} is not a format of a post-mortem", f"Known are {', '.join(POSTMORTEM_FORMATS)}.")


def _markdown(page: Postmortem) -> list[str]:
    lang = page.lang
    parts = [
        f"# {escaped(page.title)}",
        f"{page.mark} **{escaped(page.word)}**: {escaped(page.headline)}  \n"
        f"{say('case_outcome', lang)}{say('colon', lang)}{escaped(page.outcome)}",
        f"*{escaped(page.example)}*" if page.example else "",
        facts(page.facts, code),
        *worded(page.wording, page.worded_by, lang),
        *_table(page.seen),
        *_table(page.timeline),
        f"## {say('pm_whys', lang)}",
        "\n".join(_why_lines(at, why) for at, why in enumerate(page.whys, 1)),
        escaped(page.whys_note),
        *_table(page.ruled_out),
        f"## {say('pm_done', lang)}",
        escaped(page.done.text),
        facts(page.done.facts),
        *_table(page.done.prediction, 3),
        escaped(page.done.odds),
        f"## {say('pm_proof', lang)}",
        escaped(page.proof.text),
        grid(page.proof.effects.columns, page.proof.effects.rows) if page.proof.effects else "",
        *_table(page.proof.guards, 3),
        f"## {say('pm_actions', lang)}",
        "\n".join(f"- [ ] {escaped(one)}" for one in page.actions) or escaped(say("pm_no_actions", lang)),
    ]
    return [*parts, *_table(page.claims), *_table(page.notes)]


def _why_lines(at: int, why: WhyRow) -> str:
    lines = [f"{at}. {escaped(why.claim)}"]
    lines += [
        f"   - **{escaped(row.value)}** {escaped(row.text + ' ').lstrip()}({code(row.id)})" for row in why.numbers
    ]
    return "\n".join([*lines, *([f"   - {escaped(why.rejects)}"] if why.rejects else [])])


def _table(table: Table | None, level: int = 2) -> list[str]:
    return [f"{'#' * level} {escaped(table.title)}", grid(table.columns, table.rows)] if table and table.rows else []


def _text(page: Postmortem) -> list[RenderableType]:
    lang = page.lang
    verdict = Line.assemble((f"{page.mark} {page.word.upper()}", VERDICT_STYLES[page.verdict]), "  ", page.headline)
    outcome = Line(say("case_outcome", lang) + say("colon", lang) + page.outcome)
    parts: list[RenderableType] = [Line(page.title, style="bold"), verdict, outcome]
    parts += [Line(page.example, style="italic")] if page.example else []
    parts += [
        Line(""),
        facts_grid(page.facts),
        *worded_section(page.wording, page.worded_by, lang),
        *table_section(page.seen),
        *_steps(page.timeline),
    ]
    parts += [heading(say("pm_whys", lang)), *(_why(at, why) for at, why in enumerate(page.whys, 1))]
    parts += [_indented(page.whys_note), *table_section(page.ruled_out)]
    parts += [heading(say("pm_done", lang)), _indented(page.done.text), facts_grid(page.done.facts, indent=4)]
    parts += [*table_section(page.done.prediction), *([_indented(page.done.odds)] if page.done.odds else [])]
    parts += [heading(say("pm_proof", lang)), _indented(page.proof.text)]
    parts += [*table_section(page.proof.effects)[1:], *table_section(page.proof.guards)]
    parts += [heading(say("pm_actions", lang)), *(_indented(f"☐ {one}") for one in page.actions)]
    parts += [] if page.actions else [_indented(say("pm_no_actions", lang))]
    return [*parts, *_steps(page.claims), *table_section(page.notes)]


def _indented(text: str) -> RenderableType:
    return Padding(Line(text), (0, 0, 0, 2))


def _why(at: int, why: WhyRow) -> RenderableType:
    lines: list[RenderableType] = [Line(f"{at}. {why.claim}")]
    lines += [Padding(Line(f"{row.value}  {row.text} [{row.id}]"), (0, 0, 0, 3)) for row in why.numbers]
    lines += [Padding(Line(why.rejects, style="italic"), (0, 0, 0, 3))] if why.rejects else []
    return Padding(Group(*lines), (0, 0, 0, 2))


def _steps(table: Table | None) -> list[RenderableType]:
    # Its last column is a sentence, for which a grid of 80 columns leaves too little.
    if table is None or not table.rows:
        return []
    rows: list[RenderableType] = [heading(table.title)]
    for *head, said in table.rows:
        rows += [_indented("  ".join(head)), Padding(Line(said), (0, 0, 0, 6))]
    return rows
