"""What a recording becomes when signals are dropped, scrapes lost, names changed or pieces put together."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import numpy as np

from whystall.model.recording import Recording, SeriesKey, SeriesTable


def metrics_only(recording: Recording) -> Recording:
    return msgspec.structs.replace(
        recording,
        gpu=None,
        host=None,
        client=None,
        log=(),
        spans=(),
        server_info="",
        version="",
        models="",
        argv=(),
        health=(),
    )


def thinned(recording: Recording, every: int, offset: int = 0) -> Recording:
    """One scrape in ``every``, beginning with the ``offset``-th."""
    return _scrapes(recording, np.arange(offset, len(recording.metrics.times), every))


def cut(recording: Recording, start: float, seconds: float) -> Recording:
    """The scrapes from ``start`` to ``start + seconds`` after the first one; nothing of what lies outside."""
    t = recording.metrics.times - recording.metrics.times[0]
    kept = _scrapes(recording, np.flatnonzero((t >= start) & (t <= start + seconds)))
    low, high = kept.metrics.times[0], kept.metrics.times[-1]
    log = tuple(line for line in recording.log if line.t is None or line.t <= high)
    spans = tuple(span for span in recording.spans if low <= span.end <= high)
    return msgspec.structs.replace(kept, log=log, spans=spans)


def without_scrapes(recording: Recording, share: float, seed: int) -> Recording:
    """A random share of the scrapes lost, never the first and the last."""
    keep = np.random.default_rng(seed).random(len(recording.metrics.times)) >= share
    keep[[0, -1]] = True
    return _scrapes(recording, np.flatnonzero(keep))


def renamed(recording: Recording) -> Recording:
    """Another model name, another engine number, another port in the target."""

    def key(old: SeriesKey) -> SeriesKey:
        new = {"model_name": "org/other-model", "engine": "7"}
        return SeriesKey(old.name, tuple((k, new.get(k, v)) for k, v in old.labels))

    table = msgspec.structs.replace(recording.metrics, keys=tuple(key(k) for k in recording.metrics.keys))
    return msgspec.structs.replace(recording, metrics=table)


def with_constants(recording: Recording, seed: int) -> Recording:
    """A constant added to every counter and histogram: another life before the window."""
    table, rng = recording.metrics, np.random.default_rng(seed)
    values = table.values.copy()
    histograms: dict[tuple[str, tuple[tuple[str, str], ...]], float] = {}
    for row, key in enumerate(table.keys):
        part = next((p for p in ("_bucket", "_sum", "_count", "_total") if key.name.endswith(p)), None)
        if part is None:
            continue
        if part == "_total":
            values[row] += float(rng.integers(0, 10_000_000))
            continue
        # Buckets of one histogram must stay cumulative: one constant for all of it.
        labels = tuple(pair for pair in key.labels if pair[0] != "le")
        base = histograms.setdefault((key.name.removesuffix(part), labels), float(rng.integers(0, 1_000_000)))
        values[row] += base
    return msgspec.structs.replace(recording, metrics=msgspec.structs.replace(table, values=values))


def shifted(recording: Recording, seconds: float) -> Recording:
    """Everything that carries a time, later by ``seconds``."""
    table = msgspec.structs.replace(recording.metrics, times=recording.metrics.times + seconds)
    starts = [r for r, k in enumerate(table.keys) if k.name in ("process_start_time_seconds",)]
    values = table.values.copy()
    values[starts] += seconds
    changes: dict[str, object] = {"metrics": msgspec.structs.replace(table, values=values)}
    if recording.gpu is not None:
        changes["gpu"] = msgspec.structs.replace(recording.gpu, t=recording.gpu.t + seconds)
    if recording.host is not None:
        changes["host"] = msgspec.structs.replace(recording.host, t=recording.host.t + seconds)
    if recording.client is not None:
        c = recording.client
        changes["client"] = msgspec.structs.replace(c, intended=c.intended + seconds, sent=c.sent + seconds)
    changes["log"] = tuple(
        line if line.t is None else msgspec.structs.replace(line, t=line.t + seconds) for line in recording.log
    )
    return msgspec.structs.replace(recording, **changes)


def spliced(healthy: Recording, incident: Recording, start: float = 0.0) -> Recording:
    """The healthy run, then the incident from ``start`` on, as one series of pages; metrics and configuration only.

    Counters go on from where the healthy run ended, so that there is no reset between them.
    """
    before, after = healthy.metrics, cut(incident, start, 1e9).metrics
    keys = tuple(dict.fromkeys((*_unnamed(before), *_unnamed(after))))
    gap = float(np.median(np.diff(after.times)))
    times = np.concatenate((before.times, after.times - after.times[0] + before.times[-1] + gap))
    left, right = _rows(before, keys), _rows(after, keys)
    for row, key in enumerate(keys):
        if _is_counter(key.name):
            left_end = left[row][-1] if np.isfinite(left[row][-1]) else 0.0
            right[row] += left_end - right[row][0]
    table = SeriesTable(times=times, keys=keys, values=np.concatenate((left, right), axis=1), types=after.types)
    return msgspec.structs.replace(metrics_only(incident), metrics=table, server_info=incident.server_info)


def frozen(recording: Recording, at: float, seconds: float) -> Recording:
    """The engine stops at ``at``: its counters and gauges stay, the process's own go on; scrapes for ``seconds`` more."""
    t = recording.metrics.times - recording.metrics.times[0]
    last = int(np.searchsorted(t, at))
    table = cut(recording, 0.0, float(t[last])).metrics
    extra = np.arange(1, round(seconds) + 1)
    held = np.repeat(table.values[:, -1:], len(extra), axis=1)
    for row, key in enumerate(table.keys):
        if key.name == "process_cpu_seconds_total":
            held[row] += 0.01 * extra
    values = np.concatenate((table.values, held), axis=1)
    times = np.concatenate((table.times, table.times[-1] + extra))
    return msgspec.structs.replace(
        metrics_only(recording), metrics=msgspec.structs.replace(table, times=times, values=values)
    )


def _scrapes(recording: Recording, kept: np.ndarray) -> Recording:
    table = recording.metrics
    times = table.times[kept]
    failed = tuple(f for f in table.failed if len(times) and times[0] <= f.t <= times[-1])
    new = msgspec.structs.replace(table, times=times, values=table.values[:, kept], failed=failed)
    return msgspec.structs.replace(recording, metrics=new)


def _unnamed(table: SeriesTable) -> list[SeriesKey]:
    return [SeriesKey(k.name, tuple((n, "m" if n == "model_name" else v) for n, v in k.labels)) for k in table.keys]


def _rows(table: SeriesTable, keys: tuple[SeriesKey, ...]) -> np.ndarray:
    index = {key: row for row, key in enumerate(_unnamed(table))}
    nothing = np.full(len(table.times), np.nan)
    return np.stack([table.values[index[key]] if key in index else nothing for key in keys])


def _is_counter(name: str) -> bool:
    return name.endswith(("_total", "_bucket", "_sum", "_count"))


Transform = Callable[[Recording], Recording]
