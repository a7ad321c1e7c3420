"""A line of the terminal that breaks where its language allows it."""

from __future__ import annotations

import re
from collections.abc import Iterator

from rich.cells import cell_len
from rich.console import Console, JustifyMethod, OverflowMethod
from rich.containers import Lines
from rich.text import Text

_WIDE = "\u2e80-\u9fff\uff00-\uffef"
_CLOSING = "，。；：、！？）》」”"  # must not begin a line
_OPENING = "（《「“"  # must not end one
_PIECE = re.compile(rf"\s+|[{_OPENING}]*(?:[{_WIDE}]|[^\s{_WIDE}]+)[{_CLOSING}]*")
_HAS_WIDE = re.compile(f"[{_WIDE}]")


class Line(Text):
    """Text that may break after any Chinese character; rich breaks at spaces only, of which Chinese has few."""

    def wrap(
        self,
        console: Console,
        width: int,
        *,
        justify: JustifyMethod | None = None,
        overflow: OverflowMethod | None = None,
        tab_size: int = 8,
        no_wrap: bool | None = None,
    ) -> Lines:
        """The lines of at most ``width`` cells that this text takes."""
        if no_wrap or not _HAS_WIDE.search(self.plain):
            return super().wrap(console, width, justify=justify, overflow=overflow, tab_size=tab_size, no_wrap=no_wrap)
        lines = Lines()
        for whole in self.split(allow_blank=True):
            for part in whole.divide(breaks(whole.plain, width)):
                part.rstrip_end(width)
                lines.append(part)
        return lines


def breaks(text: str, width: int) -> list[int]:
    """Offsets at which ``text`` is to be broken so that no line but its trailing blanks is wider than ``width``."""
    found, used = [], 0
    for start, piece in _pieces(text, width):
        size = cell_len(piece)
        if used and used + size > width and not piece.isspace():
            found.append(start)
            used = 0
        used += size
    return found


def _pieces(text: str, width: int) -> Iterator[tuple[int, str]]:
    """What is kept together, with where it starts; a piece that no line can hold is given character by character."""
    for match in _PIECE.finditer(text):
        if cell_len(match.group()) <= width:
            yield match.start(), match.group()
        else:
            yield from ((match.start() + at, char) for at, char in enumerate(match.group()))
