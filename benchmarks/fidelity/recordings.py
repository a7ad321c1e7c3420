"""Emulated against recorded: each shared recording's load, rebuilt from its counters, played on the emulated engine.

The profile is fitted on *other* recordings of the same model than the one that is scored. Prints a table and appends a
JSON line to ``benchmarks/results/fidelity.jsonl``.

    python benchmarks/fidelity/recordings.py [NAME …] [--seeds 3]
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import time
from pathlib import Path
from typing import Any

import numpy as np

from whystall.emulator.engine.engine import Engine
from whystall.emulator.engine.options import EngineOptions
from whystall.emulator.engine.profile import StepProfile
from whystall.model.recording import Recording
from whystall.sources.configuration import read_configuration
from whystall.sources.files.recording import read_recording
from whystall.state.arrivals import play_load, rebuild_load
from whystall.state.counters import increases
from whystall.state.profile_fit import calibrate
from whystall.state.series import EngineSeries, split_engines

ROOT = Path(__file__).resolve().parents[2]
SHARED = Path(os.environ.get("WHYSTALL_SHARED", ROOT.parent / "shared"))
H200 = (
    "healthy",
    "idle_clients",
    "kv_overflow",
    "seq_cap",
    "token_budget",
    "prefix_collapse",
    "long_context_step",
    "prefill_interference",
)
CPU = ("cpu_healthy", "cpu_kv_overflow", "cpu_unchunked_prefill", "cpu_chunked_256")
FIT_ONLY = ("profiled",)  # of the same 8B model, with a stall that the fit's robust weights pass over
LIMITS = {"ttft": 0.08, "itl": 0.05, "throughput": 0.05, "preemptions": 0.05, "kv_usage": 0.05, "ttft_p99": 0.12}
FLAGS = {
    "--max-model-len": "max_model_len",
    "--num-gpu-blocks-override": "num_gpu_blocks",
    "--max-num-seqs": "max_num_seqs",
    "--max-num-batched-tokens": "max_num_batched_tokens",
    "--block-size": "block_size",
    "--max-num-queued-reqs": "max_num_queued_reqs",
}
SWITCHES = {
    "--no-enable-prefix-caching": {"enable_prefix_caching": False},
    "--no-enable-chunked-prefill": {"enable_chunked_prefill": False},
}


def options_of(name: str, recording: Recording, argv: list[str]) -> EngineOptions:
    """The engine as it was started: flags, and what the page says of the cache."""
    cpu = name.startswith("cpu_")
    values: dict[str, Any] = {"max_num_seqs": 128 if cpu else 1024, "max_num_batched_tokens": 2048 if cpu else 8192}
    labels = next(dict(k.labels) for k in recording.metrics.keys if k.name == "vllm:cache_config_info")
    values |= {"num_gpu_blocks": int(labels["num_gpu_blocks"]), "block_size": int(labels["block_size"])}
    for flag, value in zip(argv, [*argv[1:], ""], strict=True):
        if flag in FLAGS:
            values[FLAGS[flag]] = int(value)
        values |= SWITCHES.get(flag, {})
    return EngineOptions(async_scheduling=not cpu, **values)


def measured(recording: Recording) -> dict[str, float]:
    """The figures of the recording, from its counters."""
    series = split_engines(recording.metrics)[0]
    seconds = float(recording.metrics.times[-1] - recording.metrics.times[0])

    def total(name: str, part: str = "value") -> float:
        return float(np.nansum(increases(series.total(name, part))))

    return {
        "ttft": total("time_to_first_token_seconds", "sum") / total("time_to_first_token_seconds", "count"),
        "itl": total("inter_token_latency_seconds", "sum") / total("inter_token_latency_seconds", "count"),
        "throughput": total("generation_tokens") / seconds,
        "preemptions": total("num_preemptions") / seconds,
        "kv_usage": float(np.nanmean(series.total("kv_cache_usage_perc"))),
        "ttft_p99": bucket_quantile(*_ttft_buckets(series), 0.99),
    }


def _ttft_buckets(series: EngineSeries) -> tuple[np.ndarray, np.ndarray]:
    bounds, cumulative = series.buckets("time_to_first_token_seconds")
    return bounds, cumulative[:, -1] - cumulative[:, 0]


def bucket_quantile(bounds: np.ndarray, cumulative: np.ndarray, q: float) -> float:
    """A quantile as the page shows it: linear inside its bucket, for both sides alike."""
    edges = np.concatenate([[0.0], bounds, [bounds[-1]]])
    counts = np.concatenate([[0.0], cumulative])
    place = int(np.searchsorted(counts, q * counts[-1]))
    low, high = counts[place - 1], counts[place]
    return float(edges[place - 1] + (edges[place] - edges[place - 1]) * (q * counts[-1] - low) / (high - low))


def emulated(
    recording: Recording, options: EngineOptions, profile: StepProfile, seed: int, bounds: np.ndarray
) -> dict[str, float]:
    """The same figures of the emulated run."""
    times = recording.metrics.times - recording.metrics.times[0]
    engine = Engine(options, profile)
    play_load(engine, rebuild_load(recording.metrics, seed=seed), seed=seed)
    engine.advance(float(times[-1]))
    journal = engine.journal
    ttft = np.asarray([r.first_token - r.arrival + profile.back_s for r in journal.first])
    gaps, weights = journal.gaps()
    used = 1 - journal.columns("free_blocks") / (options.num_gpu_blocks - 1)
    places = np.searchsorted(journal.columns("end"), times, side="right") - 1
    cumulative = np.searchsorted(np.sort(ttft), [*bounds, np.inf], side="right").astype(float)
    return {
        "ttft": float(ttft.mean()),
        "itl": float((gaps * weights).sum() / weights.sum()),
        "throughput": sum(journal.generated) / float(times[-1]),
        "preemptions": len(journal.preemptions) / float(times[-1]),
        "kv_usage": float(np.where(places >= 0, used[np.maximum(places, 0)], 0.0).mean()),
        "ttft_p99": bucket_quantile(bounds, cumulative, 0.99),
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=[*H200, *CPU])
    parser.add_argument("--seeds", type=int, default=3)
    asked = parser.parse_args()
    truth = json.loads((SHARED / "recordings" / "truth.json").read_text())
    loaded = {n: read_recording(SHARED / "recordings" / n) for n in (*H200, *CPU, *FIT_ONLY)}
    options = {n: options_of(n, recording, truth[n]["argv"]) for n, recording in loaded.items()}
    results = {name: score(name, loaded, options, asked.seeds) for name in asked.names}
    show(results)
    git = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False)
    with (ROOT / "benchmarks" / "results" / "fidelity.jsonl").open("a", encoding="utf-8") as file:
        line = {"commit": git.stdout.strip(), "time": int(time.time()), "seeds": asked.seeds, "relative_error": results}
        file.write(json.dumps(line) + "\n")
    return 0


def score(
    name: str, loaded: dict[str, Recording], options: dict[str, EngineOptions], seeds: int
) -> dict[str, dict[str, float]]:
    """Recorded and emulated figures of one recording (the emulated ones: mean over ``seeds`` placements)."""
    family = CPU if name in CPU else (*H200, *FIT_ONLY)
    others = [n for n in family if n != name]
    profile = fit_others([loaded[n] for n in others], name)
    bounds, _ = _ttft_buckets(split_engines(loaded[name].metrics)[0])
    runs = [emulated(loaded[name], options[name], profile, seed, bounds) for seed in range(1, seeds + 1)]
    mean = {key: float(np.mean([run[key] for run in runs])) for key in runs[0]}
    return {"recorded": measured(loaded[name]), "emulated": mean}


def fit_others(recordings: list[Recording], name: str) -> StepProfile:
    return calibrate([(recording, read_configuration(recording)) for recording in recordings], f"without-{name}")


def show(results: dict[str, dict[str, dict[str, float]]]) -> None:
    print(f"{'recording':22}" + "".join(f"{key:>26}" for key in LIMITS))
    misses = 0
    for name, sides in results.items():
        cells = ""
        for key, limit in LIMITS.items():
            real, mine = sides["recorded"][key], sides["emulated"][key]
            error = (mine / real - 1) if real > 1e-9 else (0.0 if mine < 1e-9 else float("inf"))
            missed = abs(error) > limit and abs(mine - real) > 1e-9
            misses += missed
            cells += f"{real:9.4g} {mine:9.4g} {error * 100:+5.1f}%{'*' if missed else ' '}"
        print(f"{name:22}{cells}")
    print(f"recorded, emulated, error; * over its limit ({misses} of {len(results) * len(LIMITS)})")


if __name__ == "__main__":
    raise SystemExit(main())
