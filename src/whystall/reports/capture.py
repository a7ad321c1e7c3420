"""How to record a profile, on a terminal."""

from __future__ import annotations

from rich.console import Group
from rich.text import Text as Line

from whystall.model.text import Text
from whystall.profiles.capture import Capture

from .printable import clean
from .text import heading, printed

_SHOWS, _COSTS = Text("Shows", "可见"), Text("Costs", "代价")
_RUN, _READ = Text("Run", "执行"), Text("Then read it", "然后读取")
_RESTART = Text("The server must be restarted with this.", "需要以此重启服务器。")
_STALLS = Text("The server stands still while it writes.", "写文件时服务器会停顿。")


def render_capture(found: Capture, lang: str, width: int = 80, color: bool = False) -> str:
    """What it shows and costs, then commands that can be copied: they are never wrapped."""
    told = [f"{_SHOWS.in_(lang)}: {found.shows.in_(lang)}", f"{_COSTS.in_(lang)}: {found.cost.in_(lang)}"]
    warned = [text for text, holds in ((_RESTART, found.restart), (_STALLS, found.stalls)) if holds]
    lines = [Line(text) for text in told] + [Line(text.in_(lang), style="yellow") for text in warned]
    text = printed(Group(*lines, heading(_RUN.in_(lang))), width, color) + _commands(found.commands)
    text += printed(heading(_READ.in_(lang)), width, color) + _commands((found.read,))
    if found.notes:
        text += printed(Group(Line(""), *(Line("· " + note.in_(lang)) for note in found.notes)), width, color)
    return text


def _commands(commands: tuple[str, ...]) -> str:
    return "".join(f"  {clean(command)}\n" for command in commands)
