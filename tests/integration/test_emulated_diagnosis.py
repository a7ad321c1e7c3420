"""The main job against an emulated server over HTTP: a fault sets in while it is looked at, and is named."""

from __future__ import annotations

from pathlib import Path

import pytest

from emulated import emulator
from whystall.emulator.engine.workload import LengthClass
from whystall.pipeline import diagnose
from whystall.sources.live.collector import CollectSpec, collect

CHAT = LengthClass(1.0, (1200, 1600), (100, 300))
SHARED = LengthClass(1.0, (1400, 1400), (100, 200), shared_prefix=1024)


async def verdict_of(folder: Path, fault: str, mix: LengthClass, rate: float) -> tuple[str, list[str]]:
    log = folder / "server.log"
    with log.open("w", encoding="utf-8") as file:
        running = emulator(
            speed=6, faults=(fault,) if fault else (), rate=rate, plan={"mix": (mix,)}, log=file, num_gpu_blocks=20000
        )
        async with running as (url, _):
            recording = await collect(CollectSpec(url, seconds=75, interval_s=1.0, log=log))
    found = diagnose(recording).diagnosis
    return found.verdict, [cause.id for cause in found.causes]


@pytest.mark.parametrize(
    ("fault", "mix", "rate"),
    [("kv_capacity", CHAT, 10), ("seat_cap", CHAT, 10), ("prefix_cache_loss", SHARED, 24)],
)
async def test_a_fault_is_found_while_it_happens(tmp_path: Path, fault: str, mix: LengthClass, rate: float) -> None:
    verdict, causes = await verdict_of(tmp_path, f"{fault}@25", mix, rate)
    assert (verdict, causes[:1]) == ("bottleneck", [fault])


async def test_a_healthy_server_is_called_healthy(tmp_path: Path) -> None:
    assert (await verdict_of(tmp_path, "", CHAT, 10))[0] == "healthy"
