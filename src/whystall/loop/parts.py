"""The loop's replaceable parts: what each is given, and what it gives on."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Protocol

import msgspec

from whystall import pipeline
from whystall.cases.past import NOTHING, Past
from whystall.model.cost import Cost
from whystall.model.diagnosis import Diagnosis, Remedy
from whystall.model.engine_state import EngineState
from whystall.model.recording import Recording
from whystall.model.slo import Slo
from whystall.model.trial import Trial
from whystall.remedies.cost import cost_of
from whystall.remedies.whatif.prediction import predict_remedies
from whystall.reports.finding import Finding
from whystall.state.recorded import states_of

from .switch import Switch


class MetricsCollector(Protocol):
    """Looks at the target for a while."""

    async def __call__(self) -> Recording: ...


class AnomalyDetector(Protocol):
    """What is out of order in a recording; None where nothing is."""

    def __call__(self, recording: Recording) -> Finding | None: ...


class RootCauseAnalyzer(Protocol):
    """Why it is: the diagnosis with its causes."""

    def __call__(self, recording: Recording, finding: Finding) -> Diagnosis: ...


class Optimizer(Protocol):
    """What to do about it, the best first, with what each would do where that can be predicted."""

    def __call__(self, recording: Recording, diagnosis: Diagnosis) -> tuple[Remedy, ...]: ...


class Verifier(Protocol):
    """Whether the change helps: switches between the two configurations and measures."""

    async def __call__(self, switch: Switch, remedy: Remedy, recording: Recording, diagnosis: Diagnosis) -> Trial: ...


class Parts(msgspec.Struct, frozen=True, kw_only=True):
    """All of them. ``metrics_collector`` and ``verifier`` depend on the target; the others have defaults."""

    metrics_collector: Callable[[], Awaitable[Recording]]
    verifier: Verifier
    anomaly_detector: Callable[[Recording], Finding | None]
    root_cause_analyzer: Callable[[Recording, Finding], Diagnosis]
    optimizer: Callable[[Recording, Diagnosis], tuple[Remedy, ...]]
    cost: Callable[[Recording, Diagnosis], Cost] | None = None


def detector(slo: Slo | None = None, past: Past = NOTHING) -> AnomalyDetector:
    """The pipeline's own: a server inside its SLO, and without one a server that nobody feels, is healthy.

    ``past`` are the kept cases: what helped in them is advised first.
    """

    def detect(recording: Recording) -> Finding | None:
        finding = pipeline.diagnose(recording, slo, past=past)
        return None if finding.diagnosis.verdict == "healthy" else finding

    return detect


def analyze(_recording: Recording, finding: Finding) -> Diagnosis:
    """The detector's finding has the causes already: one pass over the evidence gives both."""
    return finding.diagnosis


def optimizer(slo: Slo | None = None) -> Optimizer:
    """The remedies of the diagnosed engine with a prediction each, those that recover most of the loss first."""

    def choose(recording: Recording, diagnosis: Diagnosis) -> tuple[Remedy, ...]:
        if any(remedy.prediction is not None for remedy in diagnosis.remedies):
            return diagnosis.remedies
        return predict_remedies(diagnosis, _state_of(recording, diagnosis), slo=slo)

    return choose


def costing(gpu_hour: float, slo: Slo | None = None) -> Callable[[Recording, Diagnosis], Cost]:
    """What the diagnosed engine costs at ``gpu_hour`` a GPU, and what its predicted remedies save."""
    return lambda recording, diagnosis: cost_of(
        diagnosis, _state_of(recording, diagnosis), diagnosis.remedies, gpu_hour, slo
    )


def _state_of(recording: Recording, diagnosis: Diagnosis) -> EngineState:
    states = states_of(recording)
    return next((state for state in states if state.engine == diagnosis.engine), states[0])
