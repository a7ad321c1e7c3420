"""The flow, readable top to bottom: what was collected -> states -> evidence -> causes -> the answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress

import msgspec

from whystall.cases.past import NOTHING, Past
from whystall.causes.counterfactual import reproduce
from whystall.causes.judge import judge, worst
from whystall.causes.notices import notices_of
from whystall.emulator.engine.profile import StepProfile
from whystall.errors import InputError, TooLittleData
from whystall.evidence.baseline import Baseline, baselines, known_of
from whystall.evidence.comparison import compare_engines
from whystall.model.comparison import Comparison
from whystall.model.diagnosis import Notice
from whystall.model.engine_state import EngineState
from whystall.model.prediction import WhatIf
from whystall.model.recording import Recording
from whystall.model.replica import Replica
from whystall.model.slo import Slo
from whystall.profiles.figures import TraceFigures
from whystall.remedies.choose import remedies
from whystall.remedies.whatif import WhatIfAsked, predict_remedies, what_if
from whystall.reports.finding import Finding
from whystall.sources.live.mixed import require_one_server
from whystall.state.memory import gpu_memory
from whystall.state.recorded import states_of
from whystall.state.replicas import replica_of, with_replicas
from whystall.state.timeline import timeline


def diagnose(
    recording: Recording,
    slo: Slo | None = None,
    trace: TraceFigures | None = None,
    past: Past = NOTHING,
    *,
    predicted: bool = False,
    check: bool = False,
    profile: StepProfile | None = None,
    healthy: Sequence[Baseline] = (),
    replicas: Sequence[Replica] = (),
) -> Finding:
    """Diagnose what was collected of one address, each engine by itself, with what a profile and kept cases say.

    ``predicted``: the remedies come with what each would do, which takes some seconds. ``check`` asks the emulator whether
    each cause makes the loss and whether the loss goes without it, with ``profile``, else with the one that is known for
    the server; a second or some. ``healthy``: what is usual, of :func:`baselines_of`.
    ``replicas``: other servers that take the same requests, of :func:`replicas_of`.
    Raises :class:`~whystall.errors.MixedServers` where the pages come from several servers in turn,
    :class:`~whystall.errors.NotMetrics` where they are another program's.
    """
    require_one_server(recording.metrics, recording.target.text)
    states = [with_replicas(state, replicas) for state in states_of(recording)]
    notices = notices_of(recording, states)
    findings = [_finding(state, recording.target.text, slo, notices, trace, past, healthy) for state in states]
    if check or profile is not None:
        pairs = zip(findings, states, strict=True)
        checked = [(found, reproduce(found.diagnosis, state, profile, slo)) for found, state in pairs]
        findings = [msgspec.structs.replace(found, diagnosis=diagnosis) for found, diagnosis in checked]
    top = worst([finding.diagnosis for finding in findings])
    if predicted:
        pairs = zip(findings, states, strict=True)
        findings = [_with_predictions(f, state, slo) if f.diagnosis.engine == top.engine else f for f, state in pairs]
        top = worst([finding.diagnosis for finding in findings])
    if len(findings) == 1:
        return findings[0]
    picture = next(f.timeline for f in findings if f.diagnosis.engine == top.engine)
    return Finding(top, picture, tuple(findings))


def _finding(
    state: EngineState,
    target: str,
    slo: Slo | None,
    notices: tuple[Notice, ...],
    trace: TraceFigures | None,
    past: Past,
    healthy: Sequence[Baseline] = (),
) -> Finding:
    if trace is not None:
        state = msgspec.structs.replace(state, signals=(*state.signals, "trace"))
    diagnosis = judge(state, target, slo=slo, notices=notices, trace=trace, known=known_of(healthy, state))
    # Our knobs are vLLM's flags; another engine has none of them.
    ours = state.engine.name == "vllm"
    changes, alike = remedies(diagnosis, state, past.success) if ours else (), past.like(diagnosis)
    diagnosis = msgspec.structs.replace(diagnosis, memory=gpu_memory(state), remedies=changes, similar=alike)
    return Finding(diagnosis, timeline(state) if len(state.dt) else None)


def _with_predictions(finding: Finding, state: EngineState, slo: Slo | None) -> Finding:
    known = msgspec.structs.replace(finding.diagnosis, remedies=predict_remedies(finding.diagnosis, state, slo=slo))
    return msgspec.structs.replace(finding, diagnosis=known)


def replicas_of(groups: Mapping[str, str], recordings: Mapping[str, Recording]) -> dict[str, list[Replica]]:
    """The others that share each server's load, by its name. ``groups`` says whose load that is, "" for nobody's."""
    seen: dict[str, list[Replica]] = {name: [] for name in recordings}
    for name, recording in recordings.items():
        if sum(group == groups[name] != "" for group in groups.values()) > 1:
            with suppress(InputError, TooLittleData):
                states = states_of(recording)
                seen[name] = [
                    replica_of(state, f"{name} {state.engine.id}".strip()) for state in states if len(state.dt)
                ]
    return {
        name: [one for other in seen if other != name and groups[other] == groups[name] for one in seen[other]]
        for name in recordings
    }


def whatif(recording: Recording, asked: Sequence[WhatIfAsked], slo: Slo | None = None) -> WhatIf:
    """What each change would do to the engine that is worst off. Raises what :func:`diagnose` raises, UsageError where
    none of them lets the server start, TooLittleData where the window does not say enough."""
    require_one_server(recording.metrics, recording.target.text)
    states = states_of(recording)
    diagnoses = [judge(state, recording.target.text, slo=slo) for state in states]
    engine = worst(diagnoses).engine
    return next(what_if(d, state, asked, slo) for d, state in zip(diagnoses, states, strict=True) if d.engine == engine)


def baselines_of(recording: Recording, slo: Slo | None = None) -> list[Baseline]:
    """What is usual for each engine of a healthy recording. Raises UsageError where it is not healthy."""
    return baselines(states_of(recording), recording.target.text, slo)


def compare(a: Recording, b: Recording) -> Comparison:
    """What differs between two recordings, and what changed first. Raises what :func:`states_of` raises of either."""
    return compare_engines(states_of(a), states_of(b), (a.target.text, b.target.text))
