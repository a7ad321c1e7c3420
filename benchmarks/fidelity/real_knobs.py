"""What a flag does on a real vLLM, predicted by the emulator from what the server showed before the change.

A real server (``$WHYSTALL_VLLM_PYTHON``, a tiny random model) is recorded once under a load that steps through batch
sizes and prompt lengths, and the profile is fitted on that. Then, for each flag, it runs with the flag's values under
one closed load, and the change of each metric from the middle value is compared with the predicted one. Takes about
a quarter of an hour. Appends to ``benchmarks/results/real_knobs.jsonl``.

    WHYSTALL_VLLM_PYTHON=VENV/bin/python python benchmarks/fidelity/real_knobs.py [seats] [blocks] [budget] [chunking]
"""

from __future__ import annotations

import argparse
import asyncio
import json
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

import msgspec
from interventions import emulated, judged, measured, show

from whystall.emulator.engine.engine import Engine
from whystall.emulator.engine.options import EngineOptions
from whystall.emulator.engine.profile import StepProfile
from whystall.emulator.engine.workload import LengthClass, Load, Phase
from whystall.model.recording import Recording
from whystall.sources.configuration import read_configuration
from whystall.sources.live.collector import CollectSpec, collect
from whystall.state.profile_fit import calibrate
from whystall.trials.lab.real_server import MODEL_NAME, real_server
from whystall.trials.load.generator import LoadGenerator, LoadTarget

ROOT = Path(__file__).resolve().parents[2]
SECONDS = 30.0
WINDOW = (6.0, 30.0)
COMMON = ("--dtype", "bfloat16", "--kv-cache-memory-bytes", "268435456", "--enable-logging-iteration-details")


class Knob(msgspec.Struct, frozen=True):
    """A flag's values, the middle one first, as (flags, options of the emulated engine), and the load."""

    values: tuple[tuple[tuple[str, ...], dict[str, Any]], ...]
    phase: Phase


def _load(clients: int, prompt: tuple[int, int], output: tuple[int, int]) -> Phase:
    return Phase(seconds=SECONDS, mix=(LengthClass(1.0, prompt, output),), clients=clients)


def _length(tokens: int) -> tuple[tuple[str, ...], dict[str, Any]]:
    return ("--max-model-len", str(tokens)), {"max_model_len": tokens}


def _value(tokens: int, *flags: str, **options: Any) -> tuple[tuple[str, ...], dict[str, Any]]:
    more, length = _length(tokens)
    return (*more, *flags), {**length, **options}


KNOBS = {
    "seats": Knob(
        tuple(_value(1024, "--max-num-seqs", str(n), max_num_seqs=n) for n in (8, 2, 32)),
        _load(16, (40, 60), (80, 120)),
    ),
    "blocks": Knob(
        tuple(
            _value(1024, "--block-size", "32", "--num-gpu-blocks-override", str(n), num_gpu_blocks=n, block_size=32)
            for n in (128, 64, 512)
        ),
        _load(16, (40, 60), (300, 300)),
    ),
    "budget": Knob(
        tuple(
            _value(
                1024,
                "--max-num-seqs",
                "32",
                "--max-num-batched-tokens",
                str(n),
                max_num_batched_tokens=n,
                max_num_seqs=32,
            )
            for n in (256, 48, 2048)
        ),
        _load(8, (400, 600), (20, 40)),
    ),
    "chunking": Knob(
        (
            _value(
                4096,
                "--max-num-batched-tokens",
                "256",
                "--max-num-seqs",
                "32",
                max_num_batched_tokens=256,
                max_num_seqs=32,
            ),
            _value(
                4096,
                *("--no-enable-chunked-prefill", "--max-num-batched-tokens", "4096", "--max-num-seqs", "32"),
                max_num_batched_tokens=4096,
                max_num_seqs=32,
                enable_chunked_prefill=False,
            ),
        ),
        Phase(
            seconds=SECONDS,
            mix=(LengthClass(0.85, (40, 60), (150, 250)), LengthClass(0.15, (3400, 3600), (4, 8))),
            clients=6,
        ),
    ),
}


async def record(flags: tuple[str, ...], *phases: Phase) -> Recording:
    """A real server with ``flags`` under the load."""
    with tempfile.TemporaryDirectory() as folder:
        return await _record(flags, phases, Path(folder))


async def _record(flags: tuple[str, ...], phases: tuple[Phase, ...], folder: Path) -> Recording:
    seconds = sum(phase.seconds for phase in phases)
    async with real_server(folder, [*COMMON, *flags]) as (url, log):
        load = asyncio.create_task(LoadGenerator(LoadTarget(url, MODEL_NAME), lambda _row: None).play(phases))
        recording = await collect(CollectSpec(url, seconds=seconds, log=log))
        load.cancel()
        await asyncio.gather(load, return_exceptions=True)
    return recording


def predicted(recording: Recording, options: dict[str, Any], profile: StepProfile, phase: Phase) -> dict[str, float]:
    """The emulated engine with ``options``, under the same load, on the profile of the run before."""
    labels = next(dict(key.labels) for key in recording.metrics.keys if key.name == "vllm:cache_config_info")
    page = {"num_gpu_blocks": int(labels["num_gpu_blocks"]), "block_size": int(labels["block_size"])}
    chosen = {"max_num_seqs": 128, "max_num_batched_tokens": 2048, **page, **options}
    engine = Engine(EngineOptions(**chosen), profile)
    Load(1).play(engine, [phase])
    return emulated(engine, *WINDOW)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=list(KNOBS))
    results: dict[str, dict[str, dict[str, object]]] = {}
    names = parser.parse_args().names
    steps = [
        Phase(seconds=9, mix=(LengthClass(1.0, prompt, (80, 120)),), clients=clients)
        for clients, prompt in ((1, (40, 60)), (4, (40, 600)), (12, (40, 60)), (32, (40, 60)), (6, (400, 3000)))
    ]
    flags = ("--max-model-len", "4096", "--max-num-seqs", "32", "--max-num-batched-tokens", "1024")
    seen = asyncio.run(record(flags, *steps))
    profile = calibrate([(seen, read_configuration(seen))], "seen")
    print(profile, flush=True)
    for name in names:
        knob = KNOBS[name]
        runs = [asyncio.run(record(flags, knob.phase)) for flags, _ in knob.values]
        real = [measured(run, *WINDOW) for run in runs]
        mine = [predicted(runs[0], options, profile, knob.phase) for _, options in knob.values]
        for (flags, _), truth, guess in zip(knob.values[1:], real[1:], mine[1:], strict=True):
            results[f"{name} {flags[-1]}"] = judged(real[0], truth, mine[0], guess)
        print([{k: round(v, 4) for k, v in row.items()} for row in (*real, *mine)], flush=True)
        show({key: rows for key, rows in results.items() if key.startswith(name)})
    git = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False)
    with (ROOT / "benchmarks" / "results" / "real_knobs.jsonl").open("a", encoding="utf-8") as file:
        file.write(json.dumps({"commit": git.stdout.strip(), "time": int(time.time()), "rows": results}) + "\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
