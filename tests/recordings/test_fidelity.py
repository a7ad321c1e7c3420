"""The emulated engine against recordings of a real one, on a profile fitted to *other* recordings.

Those that the model is right about must stay so; ``benchmarks/fidelity`` prints all, with the misses.
"""

from __future__ import annotations

import json
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import pytest

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks" / "fidelity"
LIMITS = {"ttft": 0.08, "itl": 0.05, "throughput": 0.05, "preemptions": 0.05, "kv_usage": 0.06, "ttft_p99": 0.12}


@pytest.fixture(scope="module")
def bench() -> ModuleType:
    """The benchmark as a module of its own name: ``recordings`` is this folder's."""
    spec = spec_from_file_location("fidelity_recordings", BENCHMARKS / "recordings.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", ["kv_overflow", "seq_cap", "token_budget", "prefix_collapse"])
def test_means_and_tails_are_within_their_limits(shared: Path, bench: ModuleType, name: str) -> None:
    truth = json.loads((shared / "recordings" / "truth.json").read_text())
    loaded = {n: bench.read_recording(shared / "recordings" / n) for n in (*bench.H200, *bench.FIT_ONLY)}
    options = {n: bench.options_of(n, recording, truth[n]["argv"]) for n, recording in loaded.items()}
    sides = bench.score(name, loaded, options, 2)
    errors = {
        key: abs(sides["emulated"][key] / real - 1) if (real := sides["recorded"][key]) else sides["emulated"][key]
        for key in LIMITS
    }
    assert {key: round(error, 3) for key, error in errors.items() if error > LIMITS[key]} == {}
