"""After a crash: what a change that was cut off left on the server; and taking back one that was kept."""

from __future__ import annotations

import time
from contextlib import suppress
from pathlib import Path
from typing import Literal

import msgspec

from whystall.cases.book import Book
from whystall.errors import ChangeFailed, NoSuchCase, UsageError
from whystall.model.case import CaseStep
from whystall.model.change import Change
from whystall.model.fix import Fix, FixState
from whystall.model.text import Text
from whystall.trials.actuators.actuator import Actuator, Snapshot
from whystall.trials.journal import Journal
from whystall.trials.lock import locked

from .change import shown

_NOTHING = Text("no change of it was cut off", "没有被中断的更改")
_STANDS = Text(
    "{change} was cut off while it was {state}; the server has the {side} configuration",
    "{change} 在“{state}”时被中断；服务器现为{side}配置",
)
_OLD, _NEW, _OTHER = Text("old", "旧"), Text("new", "新"), Text("neither the old nor the new", "既非旧也非新的")
_HOW = Text(
    "{stands}; --apply puts the old one back, which nothing was proven against", "{stands}；--apply 会恢复旧配置"
)
_DONE = Text("{stands}; the old one is back", "{stands}；已恢复旧配置")
_KEPT = Text("{change} was kept before the run was cut off: {reason}", "{change} 在运行被中断前已保留：{reason}")
_UNDONE = Text("{change} of case {case} is taken back", "案例 {case} 的 {change} 已撤销")
_WOULD = Text("would take back {change} of case {case}: {undo}", "将撤销案例 {case} 的 {change}：{undo}")


async def resume(actuator: Actuator, state: Path, store: Path | None, *, apply: bool) -> Fix:
    """Say what a change that was cut off left, and with ``apply`` put the old configuration back."""
    with locked(state, actuator.target):
        journal = Journal(state, actuator.target)
        change = journal.open()
        if change is None:
            return _told_of_the_last(actuator, journal, store)
        stands = _STANDS.format(change=change.in_words, state=change.state, side=await _side(actuator, change))
        if not apply:
            return Fix(actuator.target, "planned", _HOW.format(stands=stands), change=shown(change))
        change = await _put_back(actuator, journal, change, "cut off, and put back by --resume")
        because = _DONE.format(stands=stands) if change.state == "rolled_back" else Text(change.reason)
        _close(store, change, because)
        return Fix(actuator.target, _state(change), because, change=shown(change), case=change.case)


def _told_of_the_last(actuator: Actuator, journal: Journal, store: Path | None) -> Fix:
    """The book may not know yet what the journal knows: a run that was killed between the two."""
    change = journal.kept()
    if change is not None and _is_open(store, change):
        because = _KEPT.format(change=change.in_words, reason=change.reason)
        _close(store, change, because, "kept")
        return Fix(actuator.target, "kept", because, change=shown(change), case=change.case)
    return Fix(actuator.target, "healthy", _NOTHING)


def _is_open(store: Path | None, change: Change) -> bool:
    if store is None or not change.case or not store.exists():
        return False
    with Book.open(store) as book, suppress(NoSuchCase):
        return book.case(change.case).outcome == "open"
    return False


async def undo(actuator: Actuator, state: Path, store: Path | None, case: int, *, apply: bool) -> Fix:
    """Take back the change that was kept in ``case``. Raises UsageError where none was, or another came after it."""
    with locked(state, actuator.target):
        journal = Journal(state, actuator.target)
        change, last = journal.kept(case), journal.kept()
        if change is None:
            raise UsageError(f"no change of case {case} was kept on {actuator.target}", "See: whystall cases show N")
        if last is not None and last.id != change.id:
            raise UsageError(
                f"case {case} is not the last change of {actuator.target}",
                f"Undo case {last.case} first: it was made on top of it.",
            )
        values = {"change": change.in_words, "case": case}
        if not apply:
            return Fix(actuator.target, "planned", _WOULD.format(undo=change.undo, **values), change=shown(change))
        if (await actuator.snapshot()).arguments != change.after:
            raise ChangeFailed(
                f"{actuator.target} is no longer as case {case} left it", f"Somebody changed it. By hand: {change.undo}"
            )
        change = await _put_back(actuator, journal, change, "undone on demand")
        because = _UNDONE.format(**values) if change.state == "rolled_back" else Text(change.reason)
        _close(store, change, because)
        return Fix(actuator.target, _state(change), because, change=shown(change), case=case)


async def _side(actuator: Actuator, change: Change) -> Text:
    found = (await actuator.snapshot()).arguments
    return _OLD if found == change.before else _NEW if found == change.after else _OTHER


async def _put_back(actuator: Actuator, journal: Journal, change: Change, reason: str) -> Change:
    change = journal.write(change, "rolling_back", reason)
    await actuator.roll_back(msgspec.json.decode(change.saved, type=Snapshot))
    ready = await actuator.healthy()
    return journal.write(change, "rolled_back" if ready.ok else "failed", reason if ready.ok else ready.reason)


def _close(
    store: Path | None, change: Change, text: Text, outcome: Literal["kept", "rolled_back"] = "rolled_back"
) -> None:
    if store is None or not change.case or not store.exists():
        return
    now = time.time()
    with Book.open(store) as book:
        try:
            case = book.case(change.case)
        except NoSuchCase:
            return
        steps = (*case.steps, CaseStep(outcome, now, text))
        book.update(msgspec.structs.replace(case, outcome=outcome, closed=case.closed or now, steps=steps))


def _state(change: Change) -> FixState:
    return "rolled_back" if change.state == "rolled_back" else "failed"
