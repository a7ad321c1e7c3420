"""The dry run that a forecast starts: in a worker what would help, here how exactly it would be made. Nothing is changed."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import msgspec

from whystall import pipeline
from whystall.cases.place import default_store
from whystall.errors import WhystallError
from whystall.model.incident import Forecast, Incident, IncidentStep
from whystall.model.recording import Recording
from whystall.model.slo import Slo
from whystall.model.suggestion import Suggestion
from whystall.model.text import Text
from whystall.remedies.foreseen import foreseen
from whystall.state.recorded import states_of
from whystall.trials.actuators.actuator import Actuator
from whystall.trials.actuators.choose import actuator_of, kept_at

from .target import WatchTarget

_FAILED = Text("the dry run could not be made: {why}", "无法试算：{why}")
_NOT_KNOWN = Text(
    "nothing is known that could make it here ([targets.NAME.actuator] in whystall.toml)",
    "这里没有可执行它的方式（whystall.toml 的 [targets.NAME.actuator]）",
)


class Foresight(msgspec.Struct, frozen=True):
    """What a worker is to think about: the window, the engine's label in it, and what will be full."""

    recording: Recording
    engine: str
    forecast: Forecast
    slo: Slo | None = None


def foresee(job: Foresight) -> Suggestion:
    """Do the job. Raises nothing of ours: what makes it impossible is named."""
    try:
        finding = pipeline.diagnose(job.recording, job.slo)
        found = next((one for one in finding.engines if one.diagnosis.engine.id == job.engine), finding).diagnosis
        states = states_of(job.recording)
        state = next((state for state in states if state.engine == found.engine), states[0])
        return foreseen(job.forecast, found, state, job.slo)
    except WhystallError as error:
        return Suggestion(_FAILED.format(why=error.message))


async def planned(suggestion: Suggestion, target: WatchTarget, environ: Mapping[str, str]) -> Suggestion:
    """``suggestion`` with the exact change and its way back. Only reads how the server is started."""
    remedy = suggestion.remedy
    if remedy is None or not remedy.change:
        return suggestion
    try:
        actuator = _actuator(target, environ)
        if actuator is None:
            return msgspec.structs.replace(suggestion, not_planned=_NOT_KNOWN)
        plan = await actuator.plan(await actuator.snapshot(), remedy.change)
    except WhystallError as error:
        return msgspec.structs.replace(suggestion, not_planned=Text(error.message))
    return msgspec.structs.replace(suggestion, change=plan.text, undo=plan.undo)


def _actuator(target: WatchTarget, environ: Mapping[str, str]) -> Actuator | None:
    if target.actuator is not None:
        return actuator_of(target.actuator, target.target, target.argv)
    return kept_at(target.target, Path(default_store(environ)).parent / "servers")


def suggested(incident: Incident, suggestion: Suggestion, at: float) -> Incident:
    """The incident with what the dry run found, as its first step."""
    step = IncidentStep("suggested", at, suggestion.because)
    return msgspec.structs.replace(
        incident, suggestion=suggestion, first_step=suggestion.because, steps=(*incident.steps, step)
    )
