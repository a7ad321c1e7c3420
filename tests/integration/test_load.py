"""The load generator against an emulated server: what it sends, what it times, what it says of failures."""

from __future__ import annotations

import numpy as np

from emulated import emulator
from whystall.emulator.engine.workload import LengthClass, Phase
from whystall.sources.client import RequestRow, client_columns
from whystall.trials.load.generator import LoadGenerator, LoadTarget

SHORT = LengthClass(1.0, (40, 60), (10, 20))


async def played(
    base: str, *phases: Phase, model: str = "m", timeout_s: float = 30.0
) -> tuple[list[RequestRow], LoadGenerator]:
    rows: list[RequestRow] = []
    generator = LoadGenerator(LoadTarget(base, model, timeout_s=30.0), rows.append)
    await generator.play(phases)
    return rows, generator


async def test_an_open_loop_sends_at_its_rate_and_times_from_the_intended_moment() -> None:
    async with emulator() as (url, deployment):
        rows, generator = await played(url, Phase(seconds=3, mix=(SHORT,), rate=30, cut=False))
        columns = client_columns(rows)
        assert columns is not None
        assert 50 <= len(rows) == generator.sent <= 140
        assert all(error is None for error in columns.error)
        assert (columns.chunks == columns.output_tokens).all()
        assert (columns.sent >= columns.intended - 0.01).all()
        assert (columns.e2e_s >= columns.ttft_s).all()
        assert deployment.replicas[0].engine.unfinished == 0


async def test_a_closed_loop_never_has_more_under_way_than_clients() -> None:
    async with emulator() as (url, deployment):
        rows, _ = await played(url, Phase(seconds=2, mix=(SHORT,), clients=4))
        assert len(rows) > 8
        assert max(deployment.replicas[0].engine.journal.running, default=0) <= 4


async def test_shared_prefixes_are_shared() -> None:
    async with emulator() as (url, deployment):
        mix = (LengthClass(1.0, (200, 200), (4, 4), shared_prefix=160),)
        await played(url, Phase(seconds=2, mix=mix, rate=10, cut=False))
        scheduler = deployment.replicas[0].engine.scheduler
        assert scheduler.prefix_hits / scheduler.prefix_queries > 0.6


async def test_refusals_and_failures_are_rows() -> None:
    async with emulator(max_num_queued_reqs=1) as (url, _):
        long = LengthClass(1.0, (50, 50), (80, 80))
        rows, _ = await played(url, Phase(seconds=1.5, mix=(long,), rate=20, cut=False))
        errors = [row.error for row in rows if row.error]
        assert set(errors) == {"http 503"}
        rows, _ = await played(url, Phase(seconds=0.3, mix=(SHORT,), clients=1), model="other")
        assert {row.error for row in rows} == {"http 404"}
    rows, _ = await played(url, Phase(seconds=0.3, mix=(SHORT,), clients=1, think_s=0.1))
    assert {row.error for row in rows} == {"ClientConnectorError"}


async def test_what_is_cut_is_given_up_and_freed() -> None:
    async with emulator() as (url, deployment):
        long = LengthClass(1.0, (50, 50), (3000, 3000))
        rows, generator = await played(url, Phase(seconds=1, mix=(long,), rate=10, cut=True))
        assert generator.sent > 2
        assert rows == []
        engine = deployment.replicas[0].engine
        assert np.isfinite(engine.now)
