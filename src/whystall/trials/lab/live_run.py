"""Runs an experiment's load on a server that really listens: one that is given, or a vLLM started for it."""

from __future__ import annotations

import asyncio
from pathlib import Path

import aiohttp
import msgspec

from whystall.emulator.engine.workload import LengthClass, Phase
from whystall.errors import NotMetrics, Unreachable, UsageError
from whystall.model.recording import Recording
from whystall.sources.client import RequestRow, client_columns
from whystall.sources.live.access import Access
from whystall.sources.live.collector import CollectSpec, collect
from whystall.trials.load.generator import LoadGenerator, LoadTarget

from .experiment import Experiment, Outcome
from .real_server import real_server
from .run import compared, figures

_SETTLE_S = 5.0
_PLAIN = Access()


class LivePlan(msgspec.Struct, frozen=True):
    """An experiment as a small real server shows it: its flags, and the load before and after the change."""

    flags: tuple[str, ...]
    before: Phase
    after: Phase


_SMALL = ("--dtype", "bfloat16", "--kv-cache-memory-bytes", "268435456")
PLANS = {
    "kv-overflow": LivePlan(
        (*_SMALL, "--block-size", "32", "--num-gpu-blocks-override", "64", "--max-model-len", "1024"),
        Phase(seconds=25, mix=(LengthClass(1.0, (40, 60), (100, 150)),), clients=2),
        Phase(seconds=50, mix=(LengthClass(1.0, (40, 60), (400, 400)),), clients=16),
    ),
    "scheduling-delay": LivePlan(
        (*_SMALL, "--max-model-len", "1024", "--max-num-seqs", "2"),
        Phase(seconds=25, mix=(LengthClass(1.0, (40, 60), (150, 200)),), clients=1),
        Phase(seconds=50, mix=(LengthClass(1.0, (40, 60), (150, 200)),), clients=12),
    ),
}


def plan_of(experiment: Experiment) -> LivePlan:
    """The live form of ``experiment``. Raises UsageError where it has none."""
    if experiment.id not in PLANS:
        raise UsageError(
            f"{experiment.id} runs on the emulator only", f"On a real server: {', '.join(PLANS)}. Leave --target away."
        )
    return PLANS[experiment.id]


async def run_on_vllm(experiment: Experiment, folder: Path) -> tuple[Outcome, Recording]:
    """Start a real vLLM with the experiment's flags, send its load, look, and stop it."""
    plan = plan_of(experiment)
    folder.mkdir(parents=True, exist_ok=True)
    async with real_server(folder, plan.flags) as (url, log):
        return await run_on_url(experiment, url, log=log)


async def run_on_url(
    experiment: Experiment, url: str, *, access: Access = _PLAIN, log: Path | None = None
) -> tuple[Outcome, Recording]:
    """Send the experiment's load to the server at ``url`` while it is read."""
    plan = plan_of(experiment)
    rows: list[RequestRow] = []
    target = LoadTarget(url.rstrip("/"), await _model_of(url, access), access)
    seconds = plan.before.seconds + plan.after.seconds
    load = asyncio.create_task(LoadGenerator(target, rows.append).play([plan.before, plan.after]))
    try:
        recording = await collect(CollectSpec(url, seconds=seconds, access=access, log=log))
    finally:
        load.cancel()
        await asyncio.gather(load, return_exceptions=True)
    recording = msgspec.structs.replace(recording, client=client_columns(rows))
    edge = plan.before.seconds
    before = figures(recording, _SETTLE_S, edge)
    after = figures(recording, edge + _SETTLE_S, seconds)
    return compared(experiment, before, after), recording


async def _model_of(url: str, access: Access) -> str:
    """The first model that the server serves."""
    headers = dict(access.headers) | ({"Authorization": f"Bearer {access.token}"} if access.token else {})
    try:
        async with (
            aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=access.timeout_s)) as session,
            session.get(f"{url.rstrip('/')}/v1/models", headers=headers) as answer,
        ):
            return str((await answer.json())["data"][0]["id"])
    except (aiohttp.ClientError, TimeoutError, OSError) as error:
        raise Unreachable(f"{url} does not answer: {error}", "Check the address.") from error
    except (KeyError, IndexError, TypeError, ValueError) as error:
        raise NotMetrics(f"{url}/v1/models names no model", "The load needs an OpenAI-compatible server.") from error
