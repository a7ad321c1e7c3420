"""Recordings that no healthy server and no careful collector makes, each from a calm window or an incident."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import numpy as np

from cases.window import START, recording_of
from whystall.model.recording import (
    ClientColumns,
    GpuColumns,
    Health,
    HostColumns,
    LogLine,
    Recording,
    SeriesKey,
    SeriesTable,
)

CALM = {
    "seconds": 30,
    "running": 10,
    "rate": 5,
    "prompt": 200,
    "output": 100,
    "kv": 0.4,
    "itl_ms": 15,
    "gpu": {"util": 0.9, "power": 600},
    "host_busy": 0.4,
    "engine_cores": 0.5,
}
FULL = {**CALM, "running": 20, "waiting": 30, "kv": 0.99, "queue_s": 6.0, "preemptions": 2.0}
ARGV = ["--max-num-seqs", "64", "--num-gpu-blocks-override", "1000", "--block-size", "16"]
COUNTERS = ("_total", "_bucket", "_sum", "_count")
GAUGES = ("vllm:num_requests", "vllm:kv_cache_usage")
OLD = {
    "kv_cache_usage_perc": "gpu_cache_usage_perc",
    "inter_token_latency_seconds": "time_per_output_token_seconds",
    "prefix_cache_queries_total": "gpu_prefix_cache_queries_total",
    "prefix_cache_hits_total": "gpu_prefix_cache_hits_total",
}
Change = Callable[[Recording], Recording]


def window(*phases: dict) -> Recording:
    """A recording of these phases, with seats, blocks and block size known."""
    return recording_of({"phases": list(phases), "argv": ARGV})


def calm() -> Recording:
    return window({**CALM, "seconds": 40})


def incident() -> Recording:
    """Half a minute of calm, then as much with a full pool of KV blocks."""
    return window(CALM, FULL)


def with_table(recording: Recording, **changes: object) -> Recording:
    return msgspec.structs.replace(recording, metrics=msgspec.structs.replace(recording.metrics, **changes))


def only(recording: Recording, keep: Callable[[SeriesKey], bool]) -> Recording:
    """The series that ``keep`` takes."""
    table = recording.metrics
    rows = [row for row, key in enumerate(table.keys) if keep(key)]
    return with_table(recording, keys=tuple(table.keys[row] for row in rows), values=table.values[rows])


def relabelled(recording: Recording, change: Callable[[SeriesKey], SeriesKey]) -> Recording:
    return with_table(recording, keys=tuple(map(change, recording.metrics.keys)))


def with_values(
    recording: Recording, prefixes: tuple[str, ...], change: Callable[[np.ndarray], np.ndarray]
) -> Recording:
    """The rows whose name starts or ends so, changed."""
    values = recording.metrics.values.copy()
    for row, key in enumerate(recording.metrics.keys):
        if key.name.startswith(prefixes) or key.name.endswith(prefixes):
            values[row] = change(values[row])
    return with_table(recording, values=values)


def scrapes(recording: Recording, at: list[int] | np.ndarray) -> Recording:
    table = recording.metrics
    return with_table(recording, times=table.times[at], values=table.values[:, at])


def restarted(recording: Recording, *, told: bool = False) -> Recording:
    """Counters begin at zero again mid-way; ``told`` by the process's start time too."""
    half = len(recording.metrics.times) // 2
    new = with_values(recording, COUNTERS, lambda row: np.concatenate((row[:half], row[half:] - row[half])))
    if not told:
        return new
    table = new.metrics
    started = np.where(np.arange(len(table.times)) < half, START - 100, START + half - 5)
    keys = (*table.keys, SeriesKey("process_start_time_seconds"))
    return with_table(new, keys=keys, values=np.vstack([table.values, started]))


def several_engines(recording: Recording, count: int) -> Recording:
    """The same engine ``count`` times on one page; what carries no engine label stands once."""
    keys, rows = [], []
    for engine in range(count):
        for key, row in zip(recording.metrics.keys, recording.metrics.values, strict=True):
            if engine == 0 or key.label("engine"):
                own = tuple((k, str(engine) if k == "engine" else v) for k, v in key.labels)
                keys.append(SeriesKey(key.name, own))
                rows.append(row)
    return with_table(recording, keys=tuple(keys), values=np.stack(rows))


def as_old_version(recording: Recording) -> Recording:
    """Names and labels of V0: no engine, and the names before 0.9.2."""
    return relabelled(recording, lambda key: SeriesKey(old_name(key.name), without(key, "engine")))


def through_ray(recording: Recording) -> Recording:
    """As Ray Serve LLM exports it."""

    def key(old: SeriesKey) -> SeriesKey:
        if not old.name.startswith("vllm:"):
            return old
        labels = (*without(old, "engine"), ("ReplicaId", "r1"), ("SessionName", "s"))
        return SeriesKey("ray_" + old.name.replace(":", "_"), tuple(sorted(labels)))

    return relabelled(recording, key)


def with_old_names_beside(recording: Recording) -> Recording:
    """Versions 0.9.2 to 0.11.2 show old and new names at once."""
    table = recording.metrics
    twice = [row for row, key in enumerate(table.keys) if old_name(key.name) != key.name]
    olds = tuple(SeriesKey(old_name(table.keys[row].name), table.keys[row].labels) for row in twice)
    return with_table(recording, keys=(*table.keys, *olds), values=np.vstack([table.values, table.values[twice]]))


def old_name(name: str) -> str:
    for new, old in OLD.items():
        name = name.replace(new, old)
    return name


def without(key: SeriesKey, label: str) -> tuple[tuple[str, str], ...]:
    return tuple(pair for pair in key.labels if pair[0] != label)


def with_many_series(recording: Recording, count: int) -> Recording:
    table = recording.metrics
    more = tuple(SeriesKey("vllm:not_yet_known_total", (("engine", "0"), ("i", str(i)))) for i in range(count))
    values = np.vstack([table.values, np.cumsum(np.ones((count, len(table.times))), axis=1)])
    return with_table(recording, keys=(*table.keys, *more), values=values)


def with_bad_bounds(recording: Recording) -> Recording:
    def key(old: SeriesKey) -> SeriesKey:
        bad = {"1": "x", "0.5": "", "10": "-Inf"}
        return SeriesKey(old.name, tuple((k, bad.get(v, v) if k == "le" else v) for k, v in old.labels))

    return relabelled(recording, key)


def with_labels(recording: Recording, value: str) -> Recording:
    """Model and engine named by somebody who knows how texts are put together."""

    def key(old: SeriesKey) -> SeriesKey:
        return SeriesKey(old.name, tuple((k, value if k in ("engine", "model_name") else v) for k, v in old.labels))

    return relabelled(recording, key)


def with_info(recording: Recording, **labels: str) -> Recording:
    """Another ``cache_config_info``."""

    def key(old: SeriesKey) -> SeriesKey:
        if old.name != "vllm:cache_config_info":
            return old
        return SeriesKey(old.name, tuple((k, labels.get(k, v)) for k, v in old.labels))

    return msgspec.structs.replace(relabelled(recording, key), argv=())


def client(rows: int, *, value: float = np.nan, error: str | None = None) -> ClientColumns:
    """Rows a second apart from the start on, every figure the same."""
    column, t = np.full(rows, value), START + np.arange(rows, dtype=float)
    return ClientColumns(t, t, *[column] * 8, error=(error,) * rows)


def with_gpu(recording: Recording, value: float | None = None, **columns: object) -> Recording:
    """Every float column of the GPU at one value, and the columns given."""
    assert recording.gpu is not None
    floats = {} if value is None else dict.fromkeys(_float_columns(GpuColumns), np.full(len(recording.gpu.t), value))
    top = {} if value is None else {"sm_max_clock_hz": value}
    return msgspec.structs.replace(recording, gpu=msgspec.structs.replace(recording.gpu, **floats, **top, **columns))


def with_host(recording: Recording, change: Callable[[np.ndarray], np.ndarray], **columns: object) -> Recording:
    """Every column of the host and its processes changed, and the columns given."""
    host = recording.host
    assert host is not None
    processes = tuple(
        msgspec.structs.replace(p, **{f: change(getattr(p, f)) for f in ("cpu_s", "rss_bytes", "run_delay_s")})
        for p in host.processes
    )
    own = {f: change(getattr(host, f)) for f in ("load1", "busy_ratio", "throttled_s")}
    changed: dict[str, object] = {**own, "processes": processes, **columns}
    return msgspec.structs.replace(recording, host=msgspec.structs.replace(host, **changed))


# What a log says of deaths, faults, pauses and profilers, with numbers that no server writes.
TROUBLE = (
    "Profiler started",
    "Stopping profiler",
    "Profiler stopped",
    "GC took 999,999,999.999ms to complete. 3 objects",
    "Triton kernel x during inference: f. This causes a latency spike; consider extending warmup",
    "EngineCore encountered a fatal error.",
    "EngineDeadError",
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 999999 GiB",
    "NVRM: Xid (PCI:0000:01:00): 9999, pid=1",
    "No available shared memory broadcast block found in 999999999 seconds",
    "Watchdog caught collective operation timeout: ran for 999999999999 milliseconds",
    "RPC call to execute_model timed out.",
    "Model loading took 0 GiB",
    "Available KV cache memory: -1.5 GiB",
    "GPU KV cache size: 0 tokens",
    "Graph capturing finished in 0 secs, took 0.0 GiB",
)


def with_log(recording: Recording, texts: tuple[str, ...]) -> Recording:
    """Each line at the start, in the middle and at the end of the window, and once without a time."""
    start, end = recording.metrics.times[[0, -1]]
    at = (float(start), float(start + end) / 2, float(end), None)
    lines = tuple(LogLine(t, "ERROR", "EngineCore_DP0", 7, text) for t in at for text in texts)
    return msgspec.structs.replace(recording, log=lines)


def _float_columns(kind: type[GpuColumns] | type[HostColumns]) -> list[str]:
    left_out = {"t", "gpu", "name", "throttle_reasons", "sm_max_clock_hz"}
    return [field for field in kind.__struct_fields__ if field not in left_out]


def _times(change: Callable[[np.ndarray], np.ndarray]) -> Change:
    return lambda recording: with_table(recording, times=change(recording.metrics.times))


def _valued(rows: tuple[str, ...], change: Callable[[np.ndarray], np.ndarray]) -> Change:
    return lambda recording: with_values(recording, rows, change)


def _kept(keep: Callable[[SeriesKey], bool]) -> Change:
    return lambda recording: only(recording, keep)


def _with(**parts: object) -> Change:
    return lambda recording: msgspec.structs.replace(recording, **parts)


def _between(row: np.ndarray, low: int, high: int) -> np.ndarray:
    at = np.arange(len(row))
    return np.where((at >= low) & (at < high), np.nan, row)


NAN, INF = float("nan"), float("inf")
CHANGES: dict[str, Change] = {
    "nothing": lambda recording: recording,
    "one scrape": lambda recording: scrapes(recording, [0]),
    "two scrapes": lambda recording: scrapes(recording, [0, 1]),
    "three scrapes": lambda recording: scrapes(recording, [0, 1, 2]),
    "scrapes far apart": lambda recording: scrapes(recording, [0, 10, 20, 30, 40]),
    "all at one moment": _times(lambda t: np.full_like(t, START)),
    "intervals of no length": _times(lambda t: np.repeat(t, 2)[: len(t)]),
    "microseconds apart": _times(lambda t: START + (t - START) * 1e-6),
    "weeks apart": _times(lambda t: START + (t - START) * 1e6),
    "backwards": _times(lambda t: t[::-1].copy()),
    "all NaN": _valued(("",), lambda row: row * NAN),
    "NaN for a while": _valued(("",), lambda row: _between(row, 10, 30)),
    "NaN for most of the time": _valued(("",), lambda row: _between(row, 12, 99)),
    "NaN at the end": _valued(("",), lambda row: _between(row, 35, 99)),
    "every other NaN": _valued(("",), lambda row: np.where(np.arange(len(row)) % 2, NAN, row)),
    "counters NaN": _valued(COUNTERS, lambda row: row * NAN),
    "counters constant": _valued(COUNTERS, lambda row: row * 0 + 5),
    "all zero": _valued(("",), lambda row: row * 0),
    "counters infinite": _valued(COUNTERS, lambda row: row * 0 + INF),
    "counters become infinite": _valued(COUNTERS, lambda row: np.where(np.arange(len(row)) > 20, INF, row)),
    "counters huge": _valued(COUNTERS, lambda row: row * 1e300),
    "counters large": _valued(COUNTERS, lambda row: row * 1e12),
    "counters negative": _valued(COUNTERS, lambda row: -row),
    "counters fall": _valued(COUNTERS, lambda row: row[::-1].copy()),
    "gauges huge": _valued(GAUGES, lambda row: row * 1e300),
    "gauges large": _valued(GAUGES, lambda row: row * 1e12),
    "gauges infinite": _valued(GAUGES, lambda row: row * 0 + INF),
    "gauges negative": _valued(GAUGES, lambda row: -row),
    "waiting NaN": _valued(("vllm:num_requests_waiting",), lambda row: row * NAN),
    "running NaN": _valued(("vllm:num_requests_running",), lambda row: row * NAN),
    "sums zero": _valued(("_sum",), lambda row: row * 0),
    "restart": restarted,
    "restart, told": lambda recording: restarted(recording, told=True),
    "no histograms": _kept(lambda key: not key.name.endswith(COUNTERS[1:])),
    "no +Inf bucket": _kept(lambda key: key.label("le") != "+Inf"),
    "only +Inf buckets": _kept(lambda key: key.label("le") in ("", "+Inf")),
    "no buckets": _kept(lambda key: not key.name.endswith("_bucket")),
    "counts alone": _kept(lambda key: not key.name.endswith(("_bucket", "_sum"))),
    "no counts": _kept(lambda key: not key.name.endswith("_count")),
    "no KV usage": _kept(lambda key: "kv_cache_usage" not in key.name),
    "no waiting": _kept(lambda key: key.name != "vllm:num_requests_waiting"),
    "running alone": _kept(lambda key: key.name == "vllm:num_requests_running"),
    "gauges alone": _kept(lambda key: key.name.startswith("vllm:num_requests")),
    "no configuration": lambda recording: only(_with(argv=())(recording), lambda key: "info" not in key.name),
    "bad bounds": with_bad_bounds,
    "no blocks": lambda recording: with_info(recording, num_gpu_blocks="0", block_size="0"),
    "blocks in words": lambda recording: with_info(recording, num_gpu_blocks="many", block_size="-1"),
    "three engines": lambda recording: several_engines(recording, 3),
    "labels of braces": lambda recording: with_labels(recording, "{queue_delay} %s {0} <b> \u202e"),
    "V0": as_old_version,
    "Ray": through_ray,
    "old names beside new": with_old_names_beside,
    "10,000 series": lambda recording: with_many_series(recording, 10_000),
    "client empty": _with(client=client(0)),
    "client NaN": _with(client=client(20)),
    "client infinite": _with(client=client(20, value=INF)),
    "client refused": _with(client=client(20, error="503 Service Unavailable")),
    "GPU NaN": lambda recording: with_gpu(recording, NAN),
    "GPU zero": lambda recording: with_gpu(recording, 0.0),
    "GPU bits not seen": lambda recording: with_gpu(recording, throttle_reasons=np.full(len(recording.gpu.t), -1)),
    "GPU bits all": lambda recording: with_gpu(recording, 1e9, throttle_reasons=np.full(len(recording.gpu.t), 0x1FF)),
    "GPU elsewhere": lambda recording: with_gpu(recording, t=recording.gpu.t + 1e6),
    "host NaN": lambda recording: with_host(recording, lambda x: x * NAN),
    "host sparse": lambda recording: with_host(recording, lambda x: np.where(np.arange(len(x)) % 7, NAN, x)),
    "host falling": lambda recording: with_host(recording, lambda x: x[::-1].copy()),
    "host without cores": lambda recording: with_host(recording, lambda x: x, cpus=0, cpu_quota=0.0),
    "host elsewhere": lambda recording: with_host(recording, lambda x: x, t=recording.host.t + 1e6),
    "host at one moment": lambda recording: with_host(recording, lambda x: x, t=np.full_like(recording.host.t, START)),
    "every line of trouble": lambda recording: with_log(recording, TROUBLE),
    "a log of noise": lambda recording: with_log(
        recording, ("%s {0} \x00 \u202e", "", "x" * 100_000, "NaN inf -1e309")
    ),
    "health 503": _with(health=(Health(START, 503),)),
}


def corrupted(recording: Recording, seed: int) -> Recording:
    """Some series dropped, blanked, zeroed, scaled or made of noise over some of the time, and some scrapes lost."""
    rng = np.random.default_rng(seed)
    table = recording.metrics
    values, n = table.values.copy(), len(table.times)
    kept = np.ones(len(table.keys), dtype=bool)
    for _ in range(rng.integers(1, 4)):
        rows = np.flatnonzero(rng.random(len(table.keys)) < rng.random() * 0.5)
        start, stop = sorted(rng.integers(0, n + 1, 2))
        part = np.ix_(rows, range(start, stop))
        match rng.integers(5):
            case 0:
                kept[rows] = False
            case 1:
                values[part] = np.nan
            case 2:
                values[part] = 0.0
            case 3:
                values[part] *= rng.random() * 3
            case _:
                values[rows] += np.cumsum(rng.random((len(rows), n)) * 10.0 ** rng.integers(-3, 6), axis=1)
    at = np.flatnonzero(rng.random(n) < rng.choice([0.1, 0.5, 1.0]))
    left = SeriesTable(
        times=table.times[at],
        keys=tuple(key for key, keep in zip(table.keys, kept, strict=True) if keep),
        values=values[kept][:, at],
    )
    return msgspec.structs.replace(recording, metrics=left)
