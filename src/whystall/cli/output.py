"""Where an answer goes and what it looks like."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryFile

import click
import msgspec

from whystall.errors import UsageError
from whystall.model.text import Text

_BY_SUFFIX = {".json": "json", ".md": "markdown", ".html": "html", ".htm": "html", ".txt": "text"}
_TEXT_SUFFIXES = (".log", ".out", ".text")
_WROTE = Text("wrote {file}", "已写入 {file}")
_AS_TEXT = Text(
    "note: {file} is written as text; another ending or --format chooses: {known}",
    "注意：{file} 将以纯文本写出；可用后缀或 --format 选择：{known}",
)


class Output(msgspec.Struct, frozen=True):
    """``file`` is None for the standard output; ``format`` is one that ``reports`` has, ``lang`` a language.

    ``columns`` is how wide a text is to be; None leaves it to the terminal.
    """

    format: str = "text"
    lang: str = "en"
    file: Path | None = None
    columns: int | None = None
    told: bool = True  # whether it is said on the standard error that the file was written

    @property
    def colour(self) -> bool:
        """Whether colours may be used: on a terminal only, and there not against the user's wish (``NO_COLOR``)."""
        return self.file is None and sys.stdout.isatty() and not os.environ.get("NO_COLOR")

    @property
    def width(self) -> int:
        """The columns asked for, else the terminal's, 80 where there is none; long lines are hard to read: at most 120."""
        if self.columns is not None:
            return self.columns
        return min(shutil.get_terminal_size((80, 24)).columns, 120) if self.file is None else 80

    def check(self) -> None:
        """Raise before the work, not after it, where the file could not be written."""
        if self.file is None:
            return
        try:
            _try(self.file)
        except OSError as error:
            hint = "Choose another -o FILE, in a folder that is there."
            raise UsageError(f"{self.file} cannot be written: {error.strerror}", hint) from error

    def tell_first(self, text: Callable[[int], str]) -> None:
        """Of an answer that goes to a file its first paragraph is seen at once, and stands where the file cannot be written.

        ``text`` makes the whole answer as text, so many columns wide.
        """
        if self.file is not None:
            wide = min(shutil.get_terminal_size((80, 24)).columns, 120)
            click.echo(text(self.columns or wide).strip("\n").partition("\n\n")[0], err=True)

    def write(self, text: str) -> None:
        """Write the answer. Raises :class:`~whystall.errors.UsageError` where the file cannot be written."""
        body = text if text.endswith("\n") else text + "\n"
        if self.file is None:
            click.echo(body, nl=False)
            return
        try:
            self.file.write_text(body, encoding="utf-8")
        except OSError as error:
            raise UsageError(f"{self.file} cannot be written: {error.strerror}", "Choose another -o FILE.") from error
        if self.told:
            click.echo(_WROTE.format(file=self.file).in_(self.lang), err=True)


def _try(file: Path) -> None:
    """By doing it: a mode says nothing of a file system that is read-only, or of root on one that lets nobody write."""
    if file.is_file():
        file.open("ab").close()
    elif not file.exists():  # a pipe would wait for its reader
        TemporaryFile(dir=file.parent).close()


def unknown_ending(asked: str | None, json: bool, file: Path | None) -> Text | None:
    """A note where ``file`` ends in a format that we do not write, such as .pdf, and nothing else chose one."""
    if file is None or asked or json or not file.suffix or file.suffix.lower() in (*_BY_SUFFIX, *_TEXT_SUFFIXES):
        return None
    return _AS_TEXT.format(file=file, known=" ".join(_BY_SUFFIX))


def chosen_format(asked: str | None, json: bool, file: Path | None) -> str:
    """``--json``, else ``--format``, else what the file's name ends in, else text."""
    if json and asked not in (None, "json"):
        raise UsageError(f"--json and --format {asked} contradict each other", "Give one of them.")
    by_suffix = _BY_SUFFIX.get(file.suffix.lower(), "text") if file else "text"
    return "json" if json else asked or by_suffix
