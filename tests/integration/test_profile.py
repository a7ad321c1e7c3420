"""A bounded profiler window on a server over real HTTP: opened, closed, read; refused where it must be."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from emulated import emulator
from whystall.errors import UsageError
from whystall.profiles.files import TraceOptions, report_of
from whystall.sources.live.address import Address
from whystall.sources.live.http import Session
from whystall.trials.profiler_window import can_profile, profile_window


async def test_a_window_is_opened_closed_and_read(tmp_path: Path) -> None:
    said: list[str] = []
    async with emulator(speed=20, rate=5, profiles=tmp_path) as (url, _), Session(Address.parse(url)) as session:
        assert await can_profile(session)
        result = await profile_window(session, 50, 0.4, tmp_path, said.append)
    (file,) = result.files
    assert said[0].startswith("stopping the profiler")
    (timeline,) = report_of([Path(file)], TraceOptions()).timelines
    assert timeline.steps
    assert timeline.family("gemm") is not None


async def test_the_window_is_closed_when_interrupted(tmp_path: Path) -> None:
    async with emulator(speed=20, profiles=tmp_path) as (url, _), Session(Address.parse(url)) as session:
        task = asyncio.ensure_future(profile_window(session, 50, 30.0, tmp_path, print))
        await asyncio.sleep(0.3)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert len(list(tmp_path.glob("*.pt.trace.json.gz"))) == 1
        # Closed, so that another can be opened.
        assert (await session.post("/start_profile")).status == 200
        with pytest.raises(UsageError, match="open on this server already"):
            await profile_window(session, 50, 0.1, tmp_path, print)


async def test_a_server_without_a_profiler() -> None:
    async with emulator(speed=20) as (url, _), Session(Address.parse(url)) as session:
        assert not await can_profile(session)
