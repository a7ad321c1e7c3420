"""Loops on an emulated target in this process, with parts of the test's own where it wants them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from whystall.emulator.engine.options import EngineOptions
from whystall.emulator.engine.workload import LengthClass
from whystall.emulator.profiles import load_profile
from whystall.emulator.server.deployment import Serving
from whystall.emulator.server.traffic import TrafficPlan
from whystall.loop.flow import Loop, Mandate
from whystall.loop.parts import Parts, analyze, detector
from whystall.loop.records import Records
from whystall.loop.switch import Pause, go_on
from whystall.loop.verify import TrialLimits, WatchingVerifier
from whystall.model.diagnosis import Diagnosis, Remedy
from whystall.model.fix import Fix
from whystall.model.prediction import BindsNext, Interval, PredictedMetric, Prediction, ProfileUsed, Range
from whystall.model.recording import Recording
from whystall.model.text import Text
from whystall.trials.emulated_target import EmulatedTarget

SEATS = {"--max-num-seqs": "32"}
Choose = Callable[[Recording, Diagnosis], tuple[Remedy, ...]]


def roomy_server(clients: int = 24, **options: Any) -> Serving:
    """An 8B model on an H200 that serves ``clients`` well."""
    profile = load_profile("h200-8b")
    usual = {"num_gpu_blocks": profile.kv_blocks, "max_num_seqs": 256, "max_model_len": 16384}
    plan = TrafficPlan(mix=(LengthClass(1.0, (200, 400), (80, 160)),), clients=clients)
    chosen = EngineOptions(async_scheduling=True, **(usual | options))
    return Serving(options=chosen, profile=profile, traffic=plan)


def tight(serving: Serving, **flags: Any) -> Serving:
    """The server as an operator started it, too small."""
    names = {"num_gpu_blocks_override": "num_gpu_blocks"}
    options = {names.get(name, name): value for name, value in flags.items() if name != "enforce_eager"}
    return msgspec.structs.replace(
        serving, options=msgspec.structs.replace(serving.options, **options), flags={**serving.flags, **flags}
    )


def few_seats(seats: int = 8, clients: int = 24) -> EmulatedTarget:
    """A server whose seats bind."""
    roomy = roomy_server(clients)
    return EmulatedTarget(tight(roomy, max_num_seqs=seats), roomy)


def remedy(change: dict[str, str], prediction: Prediction | None = None, **more: Any) -> Remedy:
    return Remedy(id="planted", text=Text("Do it", "执行"), change=change, prediction=prediction, **more)


def prediction(advice: str = "recommend", p_harm: float = 0.01, **relative: tuple[float, float]) -> Prediction:
    """One that says so of metrics; ``ttft_mean=(-0.9, -0.5)``."""
    metrics = tuple(
        PredictedMetric(
            id, "tok/s" if id == "tokens_per_s" else "s", 1.0, Interval(low, (low + high) / 2, high),
            Range(low, (low + high) / 2, high),
        )
        for id, (low, high) in relative.items()
    )  # fmt: skip
    said = Text("it was said so", "据称如此")
    used = ProfileUsed("p", "fitted", 0.03, said)
    return Prediction({}, metrics, 0.9, p_harm, advice, said, BindsNext("", said), used, 20)  # type: ignore[arg-type]


def planted(*remedies: Remedy) -> Choose:
    """An optimizer that says what it is told to."""
    return lambda _recording, _diagnosis: remedies


async def run_loop(
    target: EmulatedTarget,
    state: Path,
    choose: Choose,
    *,
    apply: bool = True,
    canary: bool = False,
    pause: Pause = go_on,
    seconds: float = 40.0,
    budget_s: float = 2400.0,
) -> Fix:
    """The loop as ``fix --apply`` runs it, under the target's own load."""
    verifier = WatchingVerifier(target.target, target.look, TrialLimits(budget_s=budget_s), lambda _line: None)
    parts = Parts(
        metrics_collector=lambda: target.look(seconds),
        verifier=verifier,
        anomaly_detector=detector(),
        root_cause_analyzer=analyze,
        optimizer=choose,
    )
    records = Records(state / "cases.sqlite")
    return await Loop(
        target.target, target, parts, Mandate(state=state, apply=apply, canary=canary), records, pause
    ).run()
