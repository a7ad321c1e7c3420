"""The main job against an emulated server over HTTP: a fault sets in while it is looked at, and is named.

The short form has eight faults; the long one (marker ``slow``) every cause of the first catalogue.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec
import pytest

from whystall.emulator.server.app import Face
from whystall.emulator.server.clock import Clock
from whystall.emulator.server.deployment import Deployment
from whystall.emulator.server.faults import inject, parse_fault, prepared
from whystall.emulator.server.faults.scene import healthy_serving
from whystall.emulator.server.openai import Limits
from whystall.emulator.server.recorder import gpu_rows, record_run
from whystall.emulator.server.serve import serving
from whystall.model.diagnosis import Diagnosis
from whystall.pipeline import diagnose
from whystall.sources.files.recording import read_recording
from whystall.sources.gpu import GpuRow, gpu_columns
from whystall.sources.live.collector import CollectSpec, collect

SPEED = 15.0
AT_S, SECONDS = 30, 90
SHORT = (
    "kv_capacity",
    "seat_cap",
    "queue_limit",
    "prefix_cache_loss",
    "prefill_interference",
    "head_of_line_prompt",
    "frontend_cpu",
    "engine_hang",
)
LONG = (
    "token_budget",
    "prefill_bound",
    "burst",
    "longer_prompts",
    "longer_outputs",
    "overload",
    "cpu_starved",
    "engine_loop_cpu",
    "launch_bound",
    "gpu_throttle",
    "observability_overhead",
)
# The limit is as right an answer as the trigger that brought it out.
ALSO = {
    "prefill_bound": {"longer_prompts", "prefill_interference"},
    "longer_prompts": {"prefill_bound", "prefill_interference"},
    "longer_outputs": {"kv_capacity"},
    "overload": {"prefill_bound"},
}


async def diagnosis_of(folder: Path, fault: str) -> Diagnosis:
    log = folder / "server.log"
    async with faulty_server(fault, log) as (url, deployment):
        rows: list[GpuRow] = []
        watching = asyncio.create_task(gpu_samples(deployment, rows))
        recording = await collect(CollectSpec(url, seconds=SECONDS, interval_s=1.0, log=log))
        watching.cancel()
    return diagnose(msgspec.structs.replace(recording, gpu=gpu_columns(rows))).diagnosis


@asynccontextmanager
async def faulty_server(fault: str, log: Path) -> AsyncIterator[tuple[str, Deployment]]:
    """A server on HTTP that is healthy until ``fault`` comes."""
    planned = [parse_fault(f"{fault}@{AT_S}")] if fault else []
    clock = Clock(SPEED)
    with log.open("w", encoding="utf-8") as sink:
        deployment = Deployment(prepared(healthy_serving(fault), planned), start=clock.start, log=sink)
        for each in planned:
            inject(deployment, each)
        face = Face(deployment, clock, limits=Limits("m", deployment.serving.options.max_model_len))
        async with serving(face, 0) as url:
            yield url, deployment


async def gpu_samples(deployment: Deployment, rows: list[GpuRow]) -> None:
    """What NVML would say beside the server, once in an emulated second."""
    while True:
        await asyncio.sleep(1.0 / SPEED)
        for index, row in enumerate(gpu_rows(deployment, deployment.now)):
            rows.append(msgspec.convert({"t": deployment.now, "gpu": index, **row}, GpuRow))


@pytest.mark.parametrize("fault", [*SHORT, *(pytest.param(name, marks=pytest.mark.slow) for name in LONG)])
async def test_a_fault_is_found_while_it_happens(tmp_path: Path, fault: str) -> None:
    found = await diagnosis_of(tmp_path, fault)
    assert found.verdict == "bottleneck"
    assert found.causes[0].id in {fault} | ALSO.get(fault, set())
    onset = found.causes[0].onset
    assert fault == "launch_bound" or (onset is not None and AT_S - 15 <= onset.seconds <= AT_S + 35)


@pytest.mark.parametrize(
    "fault", [pytest.param(name, marks=pytest.mark.slow) for name in ("low_demand", "client_limited")]
)
async def test_an_idle_server_is_healthy_and_says_why(tmp_path: Path, fault: str) -> None:
    found = await diagnosis_of(tmp_path, fault)
    assert found.verdict == "healthy"
    assert [cause.id for cause in found.causes][:1] in ([], [fault])


async def test_a_healthy_server_is_called_healthy(tmp_path: Path) -> None:
    assert (await diagnosis_of(tmp_path, "")).verdict == "healthy"


def test_a_load_that_swings_by_half_is_healthy_in_every_minute_of_an_hour(tmp_path: Path) -> None:
    plain = healthy_serving("healthy")
    swinging = msgspec.structs.replace(plain.traffic, swing=0.45, period_s=400.0)
    deployment = Deployment(msgspec.structs.replace(plain, traffic=swinging), start=1_790_000_000.0)
    for minute in range(60):
        folder = tmp_path / str(minute)
        record_run(deployment, folder, seconds=60.0)
        found = diagnose(read_recording(folder)).diagnosis
        assert found.verdict == "healthy", (minute, found.headline)


@pytest.mark.parametrize("fault", ["jit_compile", "gc_pause"])
def test_pauses_that_a_mean_over_many_tokens_hides_are_an_incident(tmp_path: Path, fault: str) -> None:
    planned = parse_fault(f"{fault}@{AT_S}")
    with (tmp_path / "server.log").open("w", encoding="utf-8") as sink:
        deployment = Deployment(prepared(healthy_serving(fault), [planned]), start=1_790_000_000.0, log=sink)
        inject(deployment, planned)
        record_run(deployment, tmp_path, seconds=SECONDS)
    assert diagnose(read_recording(tmp_path)).diagnosis.verdict == "bottleneck"
