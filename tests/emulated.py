"""An emulated server for tests, and the reading of its pages."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import IO, Any

from prometheus_client.parser import text_string_to_metric_families

from whystall.emulator.engine.options import EngineOptions
from whystall.emulator.profiles import load_profile
from whystall.emulator.server.app import Face
from whystall.emulator.server.clock import Clock
from whystall.emulator.server.deployment import Deployment, Serving
from whystall.emulator.server.faults import inject, parse_fault, prepared
from whystall.emulator.server.openai import Limits
from whystall.emulator.server.profiler import Profiler
from whystall.emulator.server.serve import serving
from whystall.emulator.server.spans import SpanExporter
from whystall.emulator.server.traffic import TrafficPlan

START = 1_790_000_000.0


def samples(page: str) -> dict[str, float]:
    """Samples by name and labels, as the reference parser reads them."""
    return {
        f"{s.name}{sorted(s.labels.items())}": s.value for f in text_string_to_metric_families(page) for s in f.samples
    }


def total(page: str, name: str) -> float:
    return sum(value for key, value in samples(page).items() if key.startswith(f"{name}["))


@asynccontextmanager
async def emulator(
    *,
    speed: float = 1.0,
    faults: tuple[str, ...] = (),
    rate: float = 0.0,
    spans: str = "",
    profiles: Path | None = None,
    plan: dict[str, Any] | None = None,
    log: IO[str] | None = None,
    name: str = "m",
    **options: Any,
) -> AsyncIterator[tuple[str, Deployment]]:
    chosen = EngineOptions(**{"num_gpu_blocks": 4000, "max_model_len": 4096, "async_scheduling": True, **options})
    clock = Clock(speed)
    planned = [parse_fault(text) for text in faults]
    traffic = TrafficPlan(rate=rate, **(plan or {}))
    serving_ = Serving(options=chosen, profile=load_profile("h200-8b"), traffic=traffic)
    deployment = Deployment(prepared(serving_, planned), start=clock.start, log=log)
    for fault in planned:
        inject(deployment, fault)
    face = Face(
        deployment,
        clock,
        limits=Limits(name, chosen.max_model_len),
        spans=SpanExporter(spans) if spans else None,
        profiler=Profiler(profiles) if profiles else None,
    )
    async with serving(face, 0) as url:
        yield url, deployment
