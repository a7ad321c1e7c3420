"""What a change does, emulated against recorded: sign and size of each metric's change.

Loads: the two phases of one recording (its load rebuilt from the counters, the profile fitted on others). A knob:
chunked prefill against none on the same CPU server. A prediction is right in size within 30% of the measured change
of the logarithm. Prints a table and appends to ``benchmarks/results/interventions.jsonl``.

    python benchmarks/fidelity/interventions.py
"""

from __future__ import annotations

import json
import subprocess
import time

import numpy as np

from recordings import CPU, FIT_ONLY, H200, ROOT, SHARED, fit_others, options_of
from whystall.emulator.engine.engine import Engine
from whystall.emulator.engine.options import EngineOptions
from whystall.emulator.engine.profile import StepProfile
from whystall.model.recording import Recording
from whystall.sources.files.recording import read_recording
from whystall.state.arrivals import play_load, rebuild_load
from whystall.state.counters import increases
from whystall.state.series import split_engines

SIZE = 0.30
LEAST = 0.10  # changes of the logarithm under 10% are called none
SETTLE_S = 3.0
LOADS = {
    "kv_overflow": 15.0,
    "seq_cap": 15.0,
    "long_context_step": 40.0,
    "prefix_collapse": 35.0,
    "prefill_interference": 25.0,
}
KNOB = ("cpu_unchunked_prefill", "cpu_chunked_256")
Figures = dict[str, float]


def measured(recording: Recording, start: float, stop: float) -> Figures:
    """Figures of a window of a recording, from its counters."""
    series = split_engines(recording.metrics)[0]
    times = recording.metrics.times - recording.metrics.times[0]
    inside = (times[1:] > start) & (times[1:] <= stop)

    def total(name: str, part: str = "value") -> float:
        return float(np.nansum(increases(series.total(name, part))[inside]))

    usage = series.total("kv_cache_usage_perc")[1:][inside]
    return {
        "ttft": total("time_to_first_token_seconds", "sum") / max(total("time_to_first_token_seconds", "count"), 1),
        "itl": total("inter_token_latency_seconds", "sum") / max(total("inter_token_latency_seconds", "count"), 1),
        "throughput": total("generation_tokens") / (stop - start),
        "kv_usage": float(np.nanmean(usage)),
    }


def emulated(engine: Engine, start: float, stop: float) -> Figures:
    """The same of an emulated run."""
    journal = engine.journal
    ttft = [r.first_token - r.arrival for r in journal.first if start < r.first_token <= stop]
    gaps, weights = journal.gaps(start, stop)
    end = journal.columns("end")
    inside = (end > start) & (end <= stop)
    used = 1 - journal.columns("free_blocks")[inside] / (engine.options.num_gpu_blocks - 1)
    return {
        "ttft": float(np.mean(ttft)),
        "itl": float((gaps * weights).sum() / weights.sum()),
        "throughput": float(journal.columns("generated")[inside].sum()) / (stop - start),
        "kv_usage": float(np.average(used, weights=journal.columns("gap")[inside])),
    }


def play(recording: Recording, options: EngineOptions, profile: StepProfile) -> Engine:
    engine = Engine(options, profile)
    play_load(engine, rebuild_load(recording.metrics))
    engine.advance(float(recording.metrics.times[-1] - recording.metrics.times[0]))
    return engine


def judged(real: Figures, real_after: Figures, mine: Figures, mine_after: Figures) -> dict[str, dict[str, object]]:
    """Each metric's change on both sides, and whether sign and size are right."""
    rows: dict[str, dict[str, object]] = {}
    for name in real:
        truth, guess = (float(np.log(b[name] / a[name])) for a, b in ((real, real_after), (mine, mine_after)))
        small = abs(truth) < LEAST
        sign = abs(guess) < 2 * LEAST if small else truth * guess > 0
        size = sign if small else abs(guess - truth) <= SIZE * abs(truth)
        rows[name] = {"measured": round(truth, 3), "predicted": round(guess, 3), "sign": bool(sign), "size": bool(size)}
    return rows


def main() -> int:
    truth = json.loads((SHARED / "recordings" / "truth.json").read_text())
    loaded = {n: read_recording(SHARED / "recordings" / n) for n in (*H200, *CPU, *FIT_ONLY)}
    options = {n: options_of(n, r, truth[n]["argv"]) for n, r in loaded.items()}
    results: dict[str, dict[str, dict[str, object]]] = {}
    for name, edge in LOADS.items():
        profile = fit_others([loaded[n] for n in (*H200, *FIT_ONLY) if n != name], name)
        stop = float(loaded[name].metrics.times[-1] - loaded[name].metrics.times[0])
        windows = (SETTLE_S, edge), (edge + SETTLE_S, stop)
        engine = play(loaded[name], options[name], profile)
        real = [measured(loaded[name], *window) for window in windows]
        mine = [emulated(engine, *window) for window in windows]
        results[f"{name} (load)"] = judged(*real, *mine)
    before = loaded[KNOB[0]]  # all that is known before the change: its load and its steps
    profile = fit_others([before], "knob")
    window = (41.0, 95.0)
    real = [measured(loaded[n], *window) for n in KNOB]
    mine = [emulated(play(before, options[n], profile), *window) for n in KNOB]
    results["chunked prefill on (knob)"] = judged(*real, *mine)
    show(results)
    git = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False)
    with (ROOT / "benchmarks" / "results" / "interventions.jsonl").open("a", encoding="utf-8") as file:
        file.write(json.dumps({"commit": git.stdout.strip(), "time": int(time.time()), "rows": results}) + "\n")
    return 0


def show(results: dict[str, dict[str, dict[str, object]]]) -> None:
    for name, rows in results.items():
        cells = ""
        for metric, row in rows.items():
            cells += f"{_cell(metric, row):33}"
        print(f"{name:28}{cells}")
    rows = [row for each in results.values() for row in each.values()]
    print(f"sign {sum(bool(r['sign']) for r in rows)}, size {sum(bool(r['size']) for r in rows)} of {len(rows)}")


def _cell(metric: str, row: dict[str, object]) -> str:
    grade = "ok" if row["size"] else "sign" if row["sign"] else "WRONG"
    return f"{metric} {row['measured']:+.2f} {row['predicted']:+.2f} {grade}"


if __name__ == "__main__":
    raise SystemExit(main())
