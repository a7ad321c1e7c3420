"""``whystall trace`` on a terminal and as Markdown."""

from __future__ import annotations

from rich.cells import cell_len
from rich.console import Group, JustifyMethod, RenderableType
from rich.padding import Padding
from rich.table import Table as Grid
from rich.text import Text as Line

from whystall.model.text import Text
from whystall.profiles.diff import FigureChange, TraceDiff
from whystall.profiles.report import TraceReport

from .figures import change, number
from .printable import clean
from .text import heading, printed
from .trace_sheet import Sheet, ns, share
from .trace_tables import about, notes, sheets

_SHORTEST = 10  # columns of a text that gives way
_MARKS = {"warning": "⚠", "rule": "≈", "missing": "–", "fact": "·"}
_NOTES = Text("Notes (≈ is a rule of thumb, – says what is missing)", "说明（≈ 为经验阈值，– 表示缺失）")


def render_trace(report: TraceReport, lang: str, width: int = 80, color: bool = False) -> str:
    """The answer first, then what it stands on."""
    parts: list[RenderableType] = [Line(clean(report.headline.in_(lang)), style="bold")]
    parts += [Line(clean(about(file, lang)), style="dim") for file in report.files]
    for sheet in sheets(report, lang):
        parts += sheet_parts(sheet, width)
    told = list(notes(report, lang))
    if told:
        parts += [heading(_NOTES.in_(lang)), Padding(_notes(told), (0, 0, 0, 2))]
    return printed(Group(*parts), width, color)


def _notes(told: list[tuple[str, str]]) -> Grid:
    grid = Grid.grid(padding=(0, 1, 0, 0))
    grid.add_column(no_wrap=True)
    grid.add_column(overflow="fold")
    for level, text in told:
        grid.add_row(Line(_MARKS[level], style="yellow" if level == "warning" else "dim"), Line(clean(text)))
    return grid


def sheet_parts(sheet: Sheet, width: int) -> list[RenderableType]:
    """A headed table of at most ``width`` columns, and its note."""
    cells = [tuple(clean(cell) for cell in row) for row in (sheet.header, *sheet.rows)]
    grid = Grid(box=None, padding=(0, 2, 0, 0), show_edge=False, header_style="dim")
    for name, align, columns in zip(cells[0], sheet.align, _widths(cells, sheet.align, width - 2), strict=True):
        side: JustifyMethod = "right" if align == "r" else "left"
        grid.add_column(name, justify=side, no_wrap=True, overflow="ellipsis", width=columns)
    for row in cells[1:]:
        grid.add_row(*(Line(cell) for cell in row))
    note: list[RenderableType] = [Padding(Line(clean(sheet.note), style="dim"), (0, 0, 0, 2))] if sheet.note else []
    return [heading(sheet.title), Padding(grid, (0, 0, 0, 2)), *note]


def _widths(cells: list[tuple[str, ...]], align: str, width: int) -> list[int]:
    """Where the terminal is too narrow the longest text gives way, then the heads of numbers, never a number."""
    widths = [max(cell_len(cell) for cell in column) for column in zip(*cells, strict=True)]
    least = [
        _SHORTEST if side == "l" else max((cell_len(cell) for cell in column), default=0)
        for side, column in zip(align, zip(*cells[1:], strict=True), strict=False)
    ] or widths
    over = sum(widths) + 2 * len(widths) - width
    for kind in "lr":
        places = [place for place, side in enumerate(align) if side == kind]
        for place in sorted(places, key=lambda place: least[place] - widths[place]):
            cut = max(min(over, widths[place] - least[place]), 0)
            widths[place] -= cut
            over -= cut
    return widths


def trace_markdown(report: TraceReport, lang: str) -> str:
    """The same tables as Markdown."""
    lines = [f"**{_plain(report.headline.in_(lang))}**", ""]
    lines += [f"- {_plain(about(file, lang))}" for file in report.files]
    for sheet in sheets(report, lang):
        lines += ["", f"## {_plain(sheet.title)}", "", _row(sheet.header)]
        lines.append("|" + "|".join("---:" if align == "r" else "---" for align in sheet.align) + "|")
        lines += [_row(row) for row in sheet.rows]
        lines += ["", _plain(sheet.note)] if sheet.note else []
    told = list(notes(report, lang))
    if told:
        lines += ["", f"## {_plain(_NOTES.in_(lang))}", ""]
        lines += [f"- {_MARKS[level]} {_plain(text)}" for level, text in told]
    return "\n".join(lines) + "\n"


def _row(cells: tuple[str, ...]) -> str:
    return "| " + " | ".join(_plain(cell) for cell in cells) + " |"


def _plain(text: str) -> str:
    """Text from outside in Markdown: no markup, no HTML, no end of cell."""
    escaped = clean(text).replace("\\", "\\\\").replace("&", "&amp;").replace("<", "&lt;")
    for mark in "|`*_[]":
        escaped = escaped.replace(mark, "\\" + mark)
    return escaped


def render_diff(found: TraceDiff, lang: str, width: int = 80, color: bool = False) -> str:
    """Two traces: figures, phases, classes, kernels, what changed most first."""
    parts: list[RenderableType] = [
        Line(clean(found.headline.in_(lang)), style="bold"),
        Line(clean(f"A {found.a} → B {found.b}"), style="dim"),
    ]
    for sheet in diff_sheets(found, lang):
        parts += sheet_parts(sheet, width)
    return printed(Group(*parts), width, color)


def diff_sheets(found: TraceDiff, lang: str) -> list[Sheet]:
    rows = tuple(
        _figure(row, lang) for row in (*found.figures, *found.phases) if row.a is not None or row.b is not None
    )
    header = (Text("figure", "指标").in_(lang), "A", "B", Text("change", "变化").in_(lang))
    title = Text("Figures", "指标").in_(lang)
    unit = Text("per step", "每步") if found.per == "step" else Text("in all", "总计")
    columns = ("A", "B", Text("change", "变化").in_(lang), Text("launches A", "次数 A").in_(lang), "B")
    tables = []
    for id, name, entries in (
        ("classes", Text("Classes, {unit}", "类别，{unit}"), found.classes),
        ("kernels", Text("Kernels, {unit}", "内核，{unit}"), found.kernels[:25]),
    ):
        body = tuple(
            (
                row.name[:160],
                ns(row.a_ns) if row.a_count else "–",
                ns(row.b_ns) if row.b_count else "–",
                ("+" if row.change_ns > 0 else "") + ns(row.change_ns),
                number(row.a_count),
                number(row.b_count),
            )
            for row in entries
        )
        head = (Text("name", "名称").in_(lang), *columns)
        tables.append(Sheet(id, name.format(unit=unit).in_(lang), head, body, "lrrrrr"))
    return [Sheet("figures", title, header, rows, "lrrr"), *tables]


def _figure(row: FigureChange, lang: str) -> tuple[str, ...]:
    return (row.title.in_(lang), _shown(row.a, row.unit), _shown(row.b, row.unit), _changed(row))


def _shown(value: float | None, unit: str) -> str:
    if value is None:
        return "–"
    return ns(value) if unit == "ns" else share(value) if unit == "ratio" else number(value)


def _changed(row: FigureChange) -> str:
    return change(row.change) if row.change is not None else "–"
