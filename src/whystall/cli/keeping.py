"""Which store of cases a command uses, and what the kept cases say of a diagnosis."""

from __future__ import annotations

import os
from pathlib import Path

import click

from whystall.cases.book import Book
from whystall.cases.opening import case_of
from whystall.cases.past import NOTHING, Past, past_of
from whystall.cases.place import default_store
from whystall.errors import WhystallError
from whystall.model.case import Case
from whystall.model.diagnosis import Diagnosis
from whystall.model.text import Text

from .settings import Settings

_UNREAD = Text("note: kept cases were left out: {why}", "注意：未能使用既往案例：{why}")
_KEPT = Text("kept as case {id} in {path}", "已保存为案例 {id}（{path}）")
_HERE = Text("this window is case {id} in {path} already", "该窗口已是案例 {id}（{path}）")


def store_path(given: Path | None, settings: Settings) -> Path:
    """``--store``, else ``store`` of ``whystall.toml``, else the user's state folder."""
    configured = Path(settings.store).expanduser() if settings.store else None
    return given or configured or default_store(os.environ)


def past_cases(given: Path | None, settings: Settings, lang: str) -> Past:
    """What the kept cases say. A store that was named must be readable; without the usual one a diagnosis still stands."""
    try:
        with Book.read(store_path(given, settings)) as book:
            return past_of(book)
    except WhystallError as error:
        if given is not None:
            raise
        click.echo(_UNREAD.format(why=error.message).in_(lang), err=True)
        return NOTHING


def require_writable(path: Path) -> None:
    """Raise before the look, not after it, where no case can be kept at ``path``."""
    with Book.open(path):
        pass


def keep(diagnosis: Diagnosis, path: Path, lang: str) -> Case:
    """Write ``diagnosis`` as a case, once, and say on the standard error under which number."""
    case = case_of(diagnosis, diagnosis.window.end)
    with Book.open(path) as book:
        here = book.find(case.uid)
        kept = book.add(case) if here is None else book.case(here)
    click.echo((_KEPT if here is None else _HERE).format(id=kept.id, path=path).in_(lang), err=True)
    return kept
