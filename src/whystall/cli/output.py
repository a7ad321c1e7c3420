"""Where an answer goes and what it looks like."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import click
import msgspec

from whystall.errors import UsageError

_BY_SUFFIX = {".json": "json", ".md": "markdown", ".html": "html", ".htm": "html", ".txt": "text"}


class Output(msgspec.Struct, frozen=True):
    """``file`` is None for the standard output; ``format`` is one that ``reports`` has, ``lang`` a language.

    ``columns`` is how wide a text is to be; None leaves it to the terminal.
    """

    format: str = "text"
    lang: str = "en"
    file: Path | None = None
    columns: int | None = None

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
        folder = self.file.parent if self.file else Path()
        if self.file and not (os.access(self.file, os.W_OK) if self.file.exists() else os.access(folder, os.W_OK)):
            raise UsageError(f"{self.file} cannot be written", "Choose another -o FILE, in a folder that is there.")

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


def chosen_format(asked: str | None, json: bool, file: Path | None) -> str:
    """``--json``, else ``--format``, else what the file's name ends in, else text."""
    if json and asked not in (None, "json"):
        raise UsageError(f"--json and --format {asked} contradict each other", "Give one of them.")
    by_suffix = _BY_SUFFIX.get(file.suffix.lower(), "text") if file else "text"
    return "json" if json else asked or by_suffix
