"""The terminal's view. Reads the same without colour: every mark has its word."""

from __future__ import annotations

import io
import re

from rich.cells import cell_len, set_cell_size
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.padding import Padding
from rich.rule import Rule
from rich.table import Table as Grid
from rich.text import Text

from whystall.model.diagnosis import Diagnosis

from .answer import answer
from .finding import Finding
from .line import Line
from .outline import Answer, CauseBlock, EvidenceRow, Fact, MemoryBar, Outline, Table, WhyRow
from .outlining import outline
from .phrases import say
from .sparkline import MARK, onset_cell, spark_rows

VERDICT_STYLES = {"healthy": "bold green", "bottleneck": "bold red", "unknown": "bold yellow"}
SPARK_CELLS = 32  # with a label and two figures beside it, this fits into 80 columns
NARROW = 72  # below it a line holds too little to cut a step to it, and a timeline gets fewer cells
NARROW_CELLS = 10
BAR = 20  # cells of a full probability bar
_CLAUSE = re.compile(r"[;:.,] | \(|[；：。，（]")
MEMORY_CELLS = 60
MEMORY_SHADES = "█▓▒░·"


TELLING = 8  # pieces of evidence: one screen holds them beside the answer


class TextRenderer:
    """A report of ``width`` columns, with ANSI colour only where ``color`` is set; ``all_evidence`` or the most telling."""

    def __init__(self, width: int = 80, color: bool = False, all_evidence: bool = False) -> None:
        self.width = max(40, width)
        self.color = color
        self.most = None if all_evidence else TELLING

    def render(self, finding: Finding, lang: str) -> str:
        content = _report(finding, outline(finding, lang), self.width, self.most)
        return printed(content, self.width, self.color)


def brief(diagnosis: Diagnosis, lang: str, width: int = 80, color: bool = False) -> str:
    """The three lines of the answer alone, for where the report goes elsewhere."""
    return printed(Group(*_answer(answer(diagnosis, lang), width)), width, color)


def printed(content: RenderableType, width: int, color: bool) -> str:
    """``content`` as text: no trailing blanks, which a narrow pane would wrap."""
    console = Console(
        file=io.StringIO(),
        width=width,
        force_terminal=color,
        color_system="standard" if color else None,
        no_color=not color,
        legacy_windows=False,
        highlight=False,
        markup=False,
        emoji=False,
    )
    with console.capture() as capture:
        console.print(content)
    return "\n".join(line.rstrip() for line in capture.get().splitlines()) + "\n"


class Hanging:
    """A paragraph whose first line starts with ``mark`` and whose later lines are indented below its text."""

    def __init__(self, mark: Text, body: RenderableType) -> None:
        self.mark, self.body = mark, body

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        grid = Grid.grid(padding=0)
        grid.add_column(width=self.mark.cell_len, no_wrap=True)
        grid.add_column(ratio=1, overflow="fold")
        grid.add_row(self.mark, self.body)
        yield grid


def _report(finding: Finding, page: Outline, width: int, most: int | None) -> Group:
    parts: list[RenderableType] = [*_answer(page.answer, width), Line(""), facts_grid(page.facts)]
    parts += worded_section(page.wording, page.worded_by, page.lang)
    parts += _body(finding, page, width, most)
    for other in page.others:
        parts += [Line(""), Rule(Line(say("other_engine", page.lang, id=other.name)), style="dim"), Line("")]
        parts += [*_answer(other.answer, width), *_causes(other)]
    return Group(*parts)


def _body(finding: Finding, page: Outline, width: int, most: int | None) -> list[RenderableType]:
    parts: list[RenderableType] = []
    for warning in (page.table("warnings"), page.engines):
        parts += table_section(warning)
    parts += _causes(page)
    if page.impact:
        parts += [heading(_noted(page.impact_title, page.impact_note, page.lang)), facts_grid(page.impact, indent=2)]
    parts += _timeline(finding, page.lang, width)
    parts += listing(page.table("remedies"))
    parts += table_section(page.table("not_offered")) + listing(page.table("similar"))
    for id in ("ruled_out", "who", "cohorts"):
        parts += table_section(page.table(id))
    parts += _evidence(page, most)
    parts += table_section(page.table("lags"))
    for id in ("limits", "identities"):
        parts += table_section(page.table(id))
    if page.memory:
        parts += _memory(page.memory, page.lang)
    return parts + _coverage(page)


def worded_section(wording: tuple[str, ...], by: str, lang: str) -> list[RenderableType]:
    """The answer in other words, or nothing where it was not worded."""
    if not wording:
        return []
    parts: list[RenderableType] = [heading(say("worded", lang))]
    parts += [Padding(Line(part), (0 if at == 0 else 1, 0, 0, 2)) for at, part in enumerate(wording)]
    return [*parts, Padding(Line(by, style="dim"), (0, 0, 0, 2))]


def _noted(title: str, note: str, lang: str) -> str:
    return say("noted", lang, title=title, note=note) if note else title


def _answer(answer: Answer, width: int) -> list[RenderableType]:
    # The headline is whole, with its number. The step stands in full under "What to change": here it takes one line.
    first = Line.assemble(
        (f"{answer.mark} {answer.word.upper()}", VERDICT_STYLES[answer.verdict]), "  ", (answer.headline, "bold")
    )
    step = answer.first if width < NARROW else shortened(answer.first, width - cell_len(answer.note))
    step += answer.note
    return [first, Line(answer.since), Line(step)]


def shortened(text: str, width: int) -> str:
    """``text`` in at most ``width`` cells, cut where a clause ends outside brackets, and marked where it was cut."""
    if cell_len(text) <= width:
        return text
    ends = [end.start() for end in _CLAUSE.finditer(text) if cell_len(text[: end.start()]) <= width - 2]
    whole = [text[:end] for end in ends if _balanced(text[:end])]
    longest = whole[-1] if whole else ""
    # Too little would be left of it: better a cut sentence.
    return (longest if cell_len(longest) * 5 >= width else set_cell_size(text, width - 2).rstrip()) + " …"


def _balanced(text: str) -> bool:
    return text.count("(") == text.count(")") and text.count("（") == text.count("）")


def heading(title: str) -> RenderableType:
    return Group(Line(""), Line(title, style="bold underline" if title.isascii() else "bold"))


def facts_grid(facts: tuple[Fact, ...], indent: int = 0) -> RenderableType:
    """Label and value, a pair a line."""
    grid = Grid.grid(padding=(0, 2, 0, 0))
    grid.add_column(style="dim", no_wrap=True)
    grid.add_column(overflow="fold")
    for fact in facts:
        grid.add_row(Line(fact.label), Line(fact.value))
    return Padding(grid, (0, 0, 0, indent))


def _causes(page: Outline) -> list[RenderableType]:
    parts: list[RenderableType] = [heading(say("causes", page.lang))]
    if not page.causes:
        parts.append(Line("  " + say("no_causes", page.lang)))
    for rank, cause in enumerate(page.causes, 1):
        parts.append(Padding(_cause(rank, cause, page.lang), (0 if rank == 1 else 1, 0, 0, 2)))
    return parts


def _cause(rank: int, cause: CauseBlock, lang: str) -> Group:
    bar = "█" * round(cause.probability * BAR)
    title = Line.assemble((f"{rank}. {cause.title}", "bold"), f" ({cause.id})" if cause.id != cause.title else "")
    chance = Line.assemble((f"{cause.chance} ", "bold"), (bar.ljust(BAR, "·"), "cyan"), f"  {cause.role_word}")
    rows: list[RenderableType] = [title, Padding(chance, (0, 0, 0, 3))]
    facts = [
        (say("onset", lang), cause.onset),
        (say("binding_limit", lang), cause.limit),
        (say("emulated", lang), cause.reproduced),
    ]
    rows.append(Padding(Line(cause.summary), (0, 0, 0, 3)))
    rows.append(facts_grid(tuple(Fact(label, value) for label, value in facts if value), indent=3))
    if cause.whys:
        rows.append(Padding(Line(say("why", lang), style="bold"), (0, 0, 0, 3)))
    rows += [Padding(_why(why), (0, 0, 0, 3)) for why in cause.whys]
    for label, evidence in (("evidence_for", cause.evidence_for), ("evidence_against", cause.evidence_against)):
        if evidence:
            names = ", ".join(row.id for row in evidence)
            rows.append(Padding(Line.assemble((say(label, lang) + say("colon", lang), "dim"), names), (0, 0, 0, 3)))
    return Group(*rows)


def _why(why: WhyRow) -> RenderableType:
    mark = Line(("✔ " if why.holds else "✘ ") + why.word + "  ", style="green" if why.holds else "yellow")
    body: list[RenderableType] = [Line(why.claim)]
    body += [_number(row) for row in why.numbers]
    if why.rejects:
        body.append(Line(why.rejects, style="italic"))
    return Hanging(mark, Group(*body))


def _number(row: EvidenceRow) -> Text:
    text = f"{row.text} " if row.text else ""
    return Line.assemble((f"{row.value}  ", "bold"), text, (f"[{row.id}]", "dim"))


def table_section(table: Table | None) -> list[RenderableType]:
    """A headed table, or nothing where there is none."""
    if table is None:
        return []
    note = [Padding(Line(table.note, style="dim"), (0, 0, 0, 2))] if table.note else []
    return [heading(table.title), *note, Padding(_grid(table), (0, 0, 0, 2))]


def listing(table: Table | None) -> list[RenderableType]:
    """A table row by row, or nothing where there is none: four columns of sentences do not fit into 80."""
    if table is None:
        return []
    parts: list[RenderableType] = [heading(table.title) if table.title else Line("")]
    if table.note:
        parts.append(Padding(Line(table.note, style="bold"), (0, 0, 0, 2)))
    for rank, (what, *rest) in enumerate(table.rows, 1):
        facts = tuple(Fact(label, value) for label, value in zip(table.columns[1:], rest, strict=True) if value)
        parts += [Padding(Line(f"{rank}. {what}"), (0, 0, 0, 2)), facts_grid(facts, indent=5)]
    return parts


def _grid(table: Table) -> Grid:
    grid = Grid(box=None, padding=(0, 2, 0, 0), header_style="dim", pad_edge=False)
    for column in table.columns:
        grid.add_column(Line(column), overflow="fold")
    for row in table.rows:
        grid.add_row(*(Line(cell) for cell in row))
    return grid


def _timeline(finding: Finding, lang: str, width: int) -> list[RenderableType]:
    cells = SPARK_CELLS if width >= NARROW else NARROW_CELLS
    rows = spark_rows(finding, lang, cells)
    if not rows:
        return []
    grid = Grid.grid(padding=(0, 2, 0, 0))
    grid.add_column(style="dim", overflow="fold")
    grid.add_column(no_wrap=True, width=cells)
    grid.add_column(no_wrap=width >= NARROW, overflow="fold")
    for row in rows:
        grid.add_row(Line(row.label), Line(row.cells, style="cyan"), Line(row.span))
    at = onset_cell(finding, len(rows[0].cells))
    if at is not None:
        grid.add_row(Line(""), Line(" " * at + MARK, style="bold red"), Line(say("chart_onset", lang)))
    return [heading(say("timeline", lang)), Padding(grid, (0, 0, 0, 2))]


def _evidence(page: Outline, most: int | None) -> list[RenderableType]:
    """All of it, or the ``most`` that speak the loudest, those for the causes first."""
    if not page.evidence:
        return []
    cited = {row.id for cause in page.causes for row in cause.evidence_for}
    telling = [row for row in page.evidence if row.strength > 0]
    telling.sort(key=lambda row: (row.id not in cited, -row.strength))
    shown = page.evidence if most is None else telling[:most]
    rest = len(page.evidence) - len(shown)
    parts: list[RenderableType] = [heading(say("evidence", page.lang))]
    parts += [Padding(_row(row), (0, 0, 0, 2)) for row in shown]
    return parts + ([Line("  " + say("more_evidence", page.lang, count=rest), style="dim")] if rest else [])


def _row(row: EvidenceRow) -> RenderableType:
    arrow = "▲" if row.strength > 0 else "▼" if row.strength < 0 else "–"
    notes = " · ".join(part for part in (row.source, row.over, row.onset, row.departs) if part)
    first = Line.assemble(
        (row.id, "bold"), f"  {row.value}  ", (f"{arrow} {row.speaks}", "cyan"), (f"  {notes}", "dim")
    )
    return Group(first, Padding(Line(row.text), (0, 0, 0, 2)))


def _memory(bar: MemoryBar, lang: str) -> list[RenderableType]:
    shades = [MEMORY_SHADES[at % len(MEMORY_SHADES)] for at in range(len(bar.parts))]
    cells = "".join(shade * round(part.share * MEMORY_CELLS) for shade, part in zip(shades, bar.parts, strict=True))
    rows = tuple(
        Fact(f"{shade} {part.label}", f"{part.size}  {part.percent}  {part.known}  {part.text}".rstrip())
        for shade, part in zip(shades, bar.parts, strict=True)
    )
    title = heading(_noted(say("memory", lang), bar.note, lang))
    return [title, Line("  " + cells), facts_grid(rows, indent=2)]


def _coverage(page: Outline) -> list[RenderableType]:
    facts = [Fact(say("signals_seen", page.lang), page.signals)]
    if page.unknown_names:
        facts.append(Fact(say("unknown_names", page.lang), page.unknown_names))
    parts: list[RenderableType] = [heading(say("coverage", page.lang)), facts_grid(tuple(facts), indent=2)]
    missing = page.table("missing")
    for signal, *settled, how in missing.rows if missing else ():
        settles = "".join(settled)  # no such column where nothing would settle a cause
        mark = Line.assemble("  – ", (signal, "bold"), "  ")
        what = Line.assemble((say("would_settle", page.lang) + say("colon", page.lang), "dim"), settles)
        parts.append(Hanging(mark, Group(what, Line(how)) if settles else Line(how)))
    return parts
