"""The doctor's findings on a terminal."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table as Grid
from rich.text import Text as Line

from whystall.model.checkup import Check, Checkup, State
from whystall.model.text import Text

from .printable import clean
from .text import heading, printed

_MARKS: dict[State, tuple[str, str]] = {"ok": ("✔", "green"), "missing": ("–", "yellow"), "failed": ("✘", "red")}
_TITLES = {
    "installed": Text("Installed", "已安装"),
    "reachable": Text("Reachable", "可访问"),
    "readable": Text("Readable from here", "可从本机读取"),
    "signals": Text("Signals that a diagnosis would have", "诊断可用的信号"),
}
_NEWER = Text("Names of a newer version", "更新版本的指标名")


def render_checkup(checkup: Checkup, lang: str, width: int = 80, color: bool = False) -> str:
    """All checks as text: a mark, a name, what was found, and below it what gives what is not there."""
    engine = f" · vLLM {clean(checkup.engine_version)}" if checkup.engine_version else ""
    target = f" · {clean(checkup.target)}" if checkup.target else ""
    parts: list[RenderableType] = [Line(f"whystall {checkup.version}{target}{engine}", style="bold")]
    for section in ("reachable", "signals", "readable", "installed"):
        checks: tuple[Check, ...] = getattr(checkup, section)
        if checks:
            parts += [heading(_TITLES[section].in_(lang)), Padding(_rows(checks, lang), (0, 0, 0, 2))]
    if checkup.unknown_names:
        names = ", ".join(clean(name) for name in checkup.unknown_names)
        parts += [heading(_NEWER.in_(lang)), Padding(Line(names), (0, 0, 0, 2))]
    return printed(Group(*parts), width, color)


def _rows(checks: tuple[Check, ...], lang: str) -> Grid:
    grid = Grid.grid(padding=(0, 2, 0, 0))
    grid.add_column(no_wrap=True)
    grid.add_column(no_wrap=True)
    grid.add_column(overflow="fold")
    for check in checks:
        mark, style = _MARKS[check.state]
        found = Line(clean(check.text.in_(lang)))
        how = clean(check.how.in_(lang))
        told = Group(found, Line("→ " + how, style="dim")) if how else found
        grid.add_row(Line(mark, style=style), Line(check.id), told)
    return grid
