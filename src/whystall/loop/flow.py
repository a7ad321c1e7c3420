"""The loop, readable top to bottom: look, diagnose, choose, change, prove, keep or go back, remember."""

from __future__ import annotations

import time
from pathlib import Path

import msgspec

from whystall.errors import ChangeFailed, TooLittleData, WhystallError
from whystall.model.diagnosis import Diagnosis, Remedy
from whystall.model.fix import Fix, Rechecked
from whystall.model.recording import Recording
from whystall.model.text import Text
from whystall.trials.actuators.actuator import Actuator
from whystall.trials.actuators.choose import no_actuator
from whystall.trials.journal import Journal
from whystall.trials.lock import locked

from .change import change_of, shown
from .decision import chosen, decide, improvement_of
from .parts import Parts
from .recheck import baseline_of, recheck
from .records import Records
from .switch import Pause, Switch

_HEALTHY = Text("healthy: there is nothing to change", "健康：无需更改")
_UNKNOWN = Text("it could not be told what limits it, so nothing is changed", "无法判断受何限制，因此不做更改")
_PLANNED = Text(
    "{text}; --apply makes the change, proves it and goes back where it does not help",
    "{text}；--apply 会执行更改、加以验证，无效则恢复原状",
)
_ADVISED = Text(
    "{text}; nothing is known that could make it here: make it by hand, or say how the server is run "
    "([targets.NAME.actuator] in whystall.toml)",
    "{text}；这里没有可执行它的方式：请手动更改，或在 whystall.toml 的 [targets.NAME.actuator] 中说明服务器如何运行",
)
_CHOSEN = Text("{text}: {because}", "{text}：{because}")
_APPLIED = Text("{text}: made and tried in turn with the configuration of before", "{text}：已执行，并与原配置交替对比")
_WRITTEN = Text("the patch is written; nothing was pushed", "补丁已写出；没有推送任何内容")
_KEPT = Text("kept: {because}", "保留：{because}")
_BACK = Text("taken back: {because}", "已恢复原状：{because}")
_STUCK = Text("it could not be put back by itself: {because}; run: {undo}", "无法自动恢复：{because}；请执行：{undo}")
_INTERRUPTED = Text("interrupted", "被中断")
_NOT_RECHECKED = Text(
    "note: what was kept before was not looked at again: {why}", "注意：未能复查先前保留的更改：{why}"
)
_CAME_BACK = Text("case {cases} came back and is open again", "案例 {cases} 复发，已重新打开")
_ALL_HOLD = Text("every change that was kept holds", "所有保留的更改依然有效")
_NONE_KEPT = Text("no change of it was kept", "没有保留过它的更改")
_WHY = Text("{why}", "{why}")


class Mandate(msgspec.Struct, frozen=True, kw_only=True):
    """What the loop may do. ``state`` is the user's state folder. ``look_again``: diagnose once more what was kept.

    ``recheck_only``: look at every kept change of the target again, however young, and do nothing else.
    """

    state: Path
    apply: bool = False
    canary: bool = False
    look_again: bool = True
    recheck_only: bool = False


class Loop:
    """One run on one target."""

    def __init__(
        self, target: str, actuator: Actuator | None, parts: Parts, mandate: Mandate, records: Records, pause: Pause
    ) -> None:
        self.target = target
        self.actuator = actuator
        self.parts = parts
        self.mandate = mandate
        self.records = records
        self.pause = pause
        self.rechecked: tuple[Rechecked, ...] = ()

    async def run(self) -> Fix:
        """All of it. Raises what looking raises, Locked, UsageError where the change cannot be written, and ChangeFailed
        where an earlier one was cut off.
        """
        if self.actuator is not None:
            _require_none_open(Journal(self.mandate.state, self.actuator.target))
        recording = await self.parts.metrics_collector()
        finding = self.parts.anomaly_detector(recording)
        diagnosis = self.parts.root_cause_analyzer(recording, finding) if finding is not None else None
        self.pause("rechecking")
        self.rechecked = self._rechecked(recording, diagnosis)
        self.pause("rechecked")
        if self.mandate.recheck_only:
            return self._only_rechecked()
        if diagnosis is None:
            return self._ended(Fix(self.target, "healthy", _HEALTHY))
        if diagnosis.verdict != "bottleneck":
            return Fix(self.target, "unknown", _UNKNOWN, diagnosis)
        remedies = self.parts.optimizer(recording, diagnosis)
        diagnosis = msgspec.structs.replace(diagnosis, remedies=remedies)
        choice = chosen(remedies, [cause.id for cause in diagnosis.causes], canary=self.mandate.canary)
        if self.mandate.apply:
            self.records.opened(diagnosis)
        self.records.step("diagnosed", diagnosis.headline)
        cost = self.parts.cost(recording, diagnosis) if self.parts.cost is not None else None
        fix = Fix(self.target, "no_remedy", choice.because, diagnosis, remedies, choice.remedy, cost=cost)
        if choice.remedy is None:
            return self._ended(fix)
        said = _CHOSEN.format(text=choice.remedy.text, because=choice.because)
        self.records.chose(choice.remedy, said)
        return await self._with(choice.remedy, fix, recording)

    async def _with(self, remedy: Remedy, fix: Fix, recording: Recording) -> Fix:
        if self.actuator is None:
            if self.mandate.apply:
                raise no_actuator(self.target)
            return self._ended(msgspec.structs.replace(fix, state="planned", because=_ADVISED.format(text=remedy.text)))
        if not self.mandate.apply:
            plan = await self.actuator.plan(await self.actuator.snapshot(), remedy.change)
            change = change_of(self.actuator, plan, remedy, 0)
            return self._ended(
                msgspec.structs.replace(fix, state="planned", because=_PLANNED.format(text=remedy.text), change=change)
            )
        with locked(self.mandate.state, self.actuator.target):
            return await self._change(self.actuator, remedy, fix, recording)

    async def _change(self, actuator: Actuator, remedy: Remedy, fix: Fix, recording: Recording) -> Fix:
        journal = Journal(self.mandate.state, actuator.target)
        _require_none_open(journal)  # again: now nobody else writes to it
        plan = await actuator.plan(await actuator.snapshot(), remedy.change)
        switch = Switch(actuator, plan, change_of(actuator, plan, remedy, self.records.number), journal, self.pause)
        if not actuator.live:
            return await self._write(switch, fix)
        return await self._prove(switch, remedy, fix, recording)

    async def _write(self, switch: Switch, fix: Fix) -> Fix:
        await switch.actuator.apply(switch.plan)
        change = switch.journal.write(switch.change, "kept", "written, not pushed")
        self.records.step("applied", _WRITTEN)
        return self._ended(msgspec.structs.replace(fix, state="written", because=_WRITTEN, change=change))

    async def _prove(self, switch: Switch, remedy: Remedy, fix: Fix, recording: Recording) -> Fix:
        self.records.step("applied", _APPLIED.format(text=remedy.text))
        trial, keep, why = None, False, _INTERRUPTED
        ended = False
        try:
            assert fix.diagnosis is not None
            trial = await self.parts.verifier(switch, remedy, recording, fix.diagnosis)
            self.records.tried(trial)
            keep, why = decide(trial, remedy.prediction)
            if keep:
                await switch.keep(why.en)
            ended = True
        except WhystallError as error:  # the server must not stay changed whatever the proof met
            keep, why, ended = False, _WHY.format(why=error.message), True
        finally:
            if not ended:
                await self._taken_back(switch, fix, _INTERRUPTED)
        fix = msgspec.structs.replace(fix, trial=trial, improvement=improvement_of(trial) if trial else None)
        return await (self._kept(switch, fix, why) if keep else self._taken_back(switch, fix, why))

    async def _kept(self, switch: Switch, fix: Fix, why: Text) -> Fix:
        after = await self._second_look()
        self.records.ended("kept", why, after, baseline_of(fix.trial), said=_KEPT.format(because=why))
        return self._ended(fix, state="kept", because=why, after=after, change=switch.change)

    async def _taken_back(self, switch: Switch, fix: Fix, why: Text) -> Fix:
        change = await switch.take_back(why.en)
        if change.state == "failed":
            because = _STUCK.format(because=change.reason, undo=change.undo)
            self.records.step("closed", because)
            return self._ended(fix, state="failed", because=because, change=change)
        self.records.ended("rolled_back", why, said=_BACK.format(because=why))
        return self._ended(fix, state="rolled_back", because=why, change=change)

    async def _second_look(self) -> Diagnosis | None:
        """What the diagnosis says of the changed server; None where too little was seen."""
        if not self.mandate.look_again:
            return None
        try:
            recording = await self.parts.metrics_collector()
            finding = self.parts.anomaly_detector(recording)
        except TooLittleData:
            return None
        return self.parts.root_cause_analyzer(recording, finding) if finding is not None else None

    def _ended(self, fix: Fix, **changes: object) -> Fix:
        fix = msgspec.structs.replace(fix, **changes)
        if fix.state == "no_remedy" and self.records.case is not None:
            self.records.ended("not_changed", fix.because)
        change = shown(fix.change) if fix.change else None
        done = {"steps": tuple(self.records.steps), "case": self.records.number, "rechecked": self.rechecked}
        return msgspec.structs.replace(fix, change=change, **done)

    def _rechecked(self, recording: Recording, diagnosis: Diagnosis | None) -> tuple[Rechecked, ...]:
        """Kept changes that are due; all of them where nothing else was asked, and then a book that fails is an error."""
        only = self.mandate.recheck_only
        try:
            return recheck(self.records.store, recording, diagnosis, time.time(), all_kept=only)
        except WhystallError as error:
            if only or self.mandate.apply:
                raise
            self.records.say(_NOT_RECHECKED.format(why=error.message))
            return ()

    def _only_rechecked(self) -> Fix:
        back = [str(one.case) for one in self.rechecked if one.came_back]
        text = _CAME_BACK.format(cases=", ".join(back)) if back else _ALL_HOLD if self.rechecked else _NONE_KEPT
        return self._ended(Fix(self.target, "unknown" if back else "healthy", text))


def _require_none_open(journal: Journal) -> None:
    change = journal.open()
    if change is not None:
        raise ChangeFailed(
            f"an earlier change of {journal.target} was cut off while it was {change.state}",
            "Run whystall fix TARGET --resume first: it says what stands there, and puts it right with --apply.",
        )
