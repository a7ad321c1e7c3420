"""Recording -> the states of its engines."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from whystall.model.configuration import Configuration, IterationColumns, LogEvent, SettingShift, Start
from whystall.model.diagnosis import Engine, Limit
from whystall.model.engine_state import EngineState, HistogramDelta
from whystall.model.recording import Recording
from whystall.sources.dialects import engine_of, unknown_names

from .counters import increases, went_down
from .histograms import empty_histogram
from .identities import identities
from .limits import with_inferred
from .peers import with_peers
from .series import EngineSeries, split_engines
from .signals import client_state, gpu_state, host_state
from .subsystems import subsystems

Floats = NDArray[np.float64]

# Quantities whose drop means that the engine started anew.
_LIFETIME = ("generation_tokens", "prompt_tokens", "request_success", "iteration_tokens_total", "num_preemptions")
_TTFT, _ITL = "time_to_first_token_seconds", "inter_token_latency_seconds"
_HISTOGRAMS = {
    "ttft": _TTFT,
    "itl": _ITL,
    "queue": "request_queue_time_seconds",
    "prefill": "request_prefill_time_seconds",
    "decode": "request_decode_time_seconds",
    "e2e": "e2e_request_latency_seconds",
    "prompt_length": "request_prompt_tokens",
    "output_length": "request_generation_tokens",
}
_COUNTERS = {
    "generation_tokens": "generation_tokens",
    "prompt_tokens": "prompt_tokens",
    "cached_tokens": "prompt_tokens_cached",
    "external_tokens": "external_prefix_cache_hits",
    "prefix_queries": "prefix_cache_queries",
    "prefix_hits": "prefix_cache_hits",
    "preemptions": "num_preemptions",
    "finished": "request_success",
    "rejections": "admission_rejections",
    "accepted_tokens": "spec_decode_num_accepted_tokens",
    "draft_tokens": "spec_decode_num_draft_tokens",
    "http_responses": "http_requests",
    "gc_collections": "python_gc_collections",
}


def engine_states(
    recording: Recording,
    configuration: Configuration,
    *,
    events: tuple[LogEvent, ...] = (),
    iterations: IterationColumns | None = None,
    blocks: dict[str, float] | None = None,
    starts: tuple[Start, ...] = (),
    shifts: tuple[SettingShift, ...] = (),
) -> list[EngineState]:
    """The state of each engine on the recording's pages, empty where no page has a series that we know.

    ``blocks`` gives ``num_gpu_blocks`` by engine label where the engines differ, ``starts`` and ``shifts`` what the log
    and the pages tell of starts and of settings that changed with one.
    """
    order = np.argsort(recording.metrics.times, kind="stable")
    times = recording.metrics.times[order]
    keep = order[np.concatenate(([True], np.diff(times) > 0))] if len(times) else order
    context = _Context(recording, configuration, events, iterations, blocks or {}, keep)
    context.starts, context.shifts = starts, shifts
    return with_peers([_state(series, context) for series in split_engines(recording.metrics)])


class _Context:
    """What all engines of a recording share."""

    def __init__(
        self,
        recording: Recording,
        configuration: Configuration,
        events: tuple[LogEvent, ...],
        iterations: IterationColumns | None,
        blocks: dict[str, float],
        keep: NDArray[np.int64],
    ) -> None:
        self.recording = recording
        self.configuration = configuration
        self.events = events
        self.iterations = iterations
        self.blocks = blocks
        self.keep = keep
        self.starts: tuple[Start, ...] = ()
        self.shifts: tuple[SettingShift, ...] = ()
        self.times = recording.metrics.times[keep]
        self.unknown = tuple(unknown_names(recording.metrics.keys))
        self.program = engine_of(key.name for key in recording.metrics.keys)

    def signals(self) -> tuple[str, ...]:
        r = self.recording
        seen = {
            "metrics": len(self.times) > 0,
            "gpu": r.gpu is not None and len(r.gpu.t) > 0,
            "host": r.host is not None and len(r.host.t) > 1,
            "log": bool(r.log),
            "config": bool(r.server_info or r.argv or self.configuration.flags),
            "client": r.client is not None and len(r.client.sent) > 0,
            "spans": bool(r.spans),
        }
        return tuple(name for name, there in seen.items() if there)

    @property
    def asked(self) -> Floats:
        """When the server was asked for a page, whether it gave one or not."""
        failed = np.array([scrape.t for scrape in self.recording.metrics.failed], dtype=np.float64)
        return np.sort(np.concatenate((self.times, failed))) if len(self.times) else self.times

    @cached_property
    def beside(self) -> dict[str, Any]:
        """What was seen beside the page: the same for every engine."""
        r, times = self.recording, self.times
        failed = [scrape.t for scrape in r.metrics.failed]
        return {
            "gpu": gpu_state(r.gpu, times),
            "host": host_state(r.host, times),
            "client": client_state(r.client, times),
            "events": _inside(self.events, self.asked),
            "starts": self.starts,
            "shifts": self.shifts,
            "spans": tuple(s for s in r.spans if len(times) and times[0] <= s.end <= times[-1]),
            "unanswered_before_s": max(float(times[0]) - min(failed, default=np.inf), 0.0) if len(times) else 0.0,
            "unanswered_after_s": max(max(failed, default=-np.inf) - float(times[-1]), 0.0) if len(times) else 0.0,
            "health_ok": (r.health[-1].status == 200) if r.health else None,
            "unknown_names": self.unknown,
            "contrasts": r.contrasts,
            "links": r.links,
            "signals": self.signals(),
        }


class _Pages:
    """One engine's pages: increases over the intervals, gauges at the scrapes."""

    def __init__(self, series: EngineSeries, keep: NDArray[np.int64]) -> None:
        self.series = series
        self.keep = keep
        self.valid = self._valid()

    def increase(self, name: str, part: str = "value", **labels: str) -> Floats:
        return self.delta(self.series.total(name, part, **labels))

    def delta(self, values: Floats) -> Floats:
        return np.where(self.valid, increases(values[self.keep]), np.nan) if len(self.valid) else np.zeros(0)

    def gauge(self, name: str, **labels: str) -> Floats:
        return self.series.total(name, **labels)[self.keep]

    def histogram(self, name: str) -> HistogramDelta:
        if not len(self.valid) or not self.series.rows(name, "count"):
            return empty_histogram(len(self.valid))
        bounds, cumulative = self.series.buckets(name)
        cumulative[-1] = np.where(np.isnan(cumulative[-1]), self.series.total(name, "count"), cumulative[-1])
        by_bucket = np.diff(cumulative[:, self.keep], axis=0, prepend=0.0)
        # A scrape may fall between a bucket's increment and its neighbour's: never a negative count.
        counts = np.maximum(np.where(self.valid, np.diff(by_bucket, axis=1), np.nan), 0.0)
        return HistogramDelta(bounds, counts.T, self.increase(name, "sum"), self.increase(name, "count"))

    def _valid(self) -> NDArray[np.bool_]:
        """Intervals that a rate can be taken over: those in which the engine did not start anew."""
        reset = np.zeros(max(len(self.keep) - 1, 0), dtype=bool)
        if not len(reset):
            return reset
        for name in _LIFETIME:
            for part in ("value", "count"):
                reset |= went_down(self.series.total(name, part)[None, self.keep])
        with np.errstate(invalid="ignore"):
            reset |= np.abs(np.diff(self.gauge("process_start_time_seconds"))) > 1.0
        return ~reset


def _state(series: EngineSeries, context: _Context) -> EngineState:
    pages, times = _Pages(series, context.keep), context.times
    start = float(times[0]) if len(times) else 0.0
    engine_id, model = series.engine or ("", "")
    configuration = context.configuration
    fields: dict[str, Any] = {
        **{field: pages.histogram(name) for field, name in _HISTOGRAMS.items()},
        **{field: pages.increase(name) for field, name in _COUNTERS.items()},
        **_gauges(pages),
    }
    state = EngineState(
        engine=Engine(context.program, configuration.version, engine_id, model or configuration.model),
        configuration=configuration,
        limits=_limits(configuration, context.blocks.get(engine_id)),
        start=start,
        t_start=times[:-1] - start,
        t_end=times[1:] - start,
        dt=np.diff(times),
        valid=pages.valid,
        computed_tokens=_computed(pages),
        steps=pages.increase("iteration_tokens_total", "count"),
        step_tokens=pages.increase("iteration_tokens_total", "sum"),
        first_tokens=fields["ttft"].count,
        http_errors=_errors(pages),
        api_cores=pages.increase("process_cpu_seconds") / np.diff(times),
        iterations=_of_engine(context.iterations, engine_id),
        restarts=tuple(float(t - start) for t in times[1:][~pages.valid]),
        process_age_s=_age(pages, start),
        served_tokens=_first(pages.gauge("generation_tokens")),
        resident_bytes=pages.gauge("process_resident_memory_bytes")[1:],
        subsystems=subsystems(pages),
        series=series.own(context.keep),
        **fields,
        **context.beside,
    )
    state = with_inferred(state)
    return msgspec.structs.replace(state, identities=identities(state))


def _gauges(pages: _Pages) -> dict[str, Floats]:
    running, waiting = pages.gauge("num_requests_running"), pages.gauge("num_requests_waiting")
    usage = pages.gauge("kv_cache_usage_perc")
    return {
        "running_start": running[:-1],
        "running_end": running[1:],
        "waiting_start": waiting[:-1],
        "waiting_end": waiting[1:],
        "waiting_capacity_end": pages.gauge("num_requests_waiting_by_reason", reason="capacity")[1:],
        "waiting_deferred_end": pages.gauge("num_requests_waiting_by_reason", reason="deferred")[1:],
        "kv_usage_start": usage[:-1],
        "kv_usage_end": usage[1:],
    }


def _computed(pages: _Pages) -> Floats:
    """Prompt tokens computed here: by source where the page tells, else what the prefix cache did not supply."""
    if pages.series.rows("prompt_tokens_by_source", source="local_compute"):
        return pages.increase("prompt_tokens_by_source", source="local_compute")
    hits = pages.increase("prefix_cache_hits")
    return np.maximum(pages.increase("prompt_tokens") - np.where(np.isnan(hits), 0.0, hits), 0.0)


def _errors(pages: _Pages) -> Floats:
    """Responses with status 5xx: a status has no series before its first response, while the others are on the page."""
    errors, responses = pages.series.total("http_requests", status="5xx"), pages.series.total("http_requests")
    return pages.delta(np.where(np.isnan(errors) & np.isfinite(responses), 0.0, errors))


def _limits(configuration: Configuration, blocks: float | None) -> tuple[Limit, ...]:
    if blocks is None:
        return configuration.limits
    others = tuple(limit for limit in configuration.limits if limit.name != "num_gpu_blocks")
    return (*others, Limit("num_gpu_blocks", blocks, "reported", "metrics"))


def _of_engine(iterations: IterationColumns | None, engine: str) -> IterationColumns | None:
    """The rows of one engine: the log pads its number (``000``)."""
    if iterations is None or not engine.isdigit():
        return iterations
    own = np.array([e.isdigit() and int(e) == int(engine) for e in iterations.engine], dtype=bool)
    rows: dict[str, Any] = {f: getattr(iterations, f) for f in iterations.__struct_fields__ if f != "engine"}
    kept: dict[str, Any] = {f: None if column is None else column[own] for f, column in rows.items()}
    return IterationColumns(**kept, engine=tuple(e for e, mine in zip(iterations.engine, own, strict=True) if mine))


def _inside(events: tuple[LogEvent, ...], times: Floats) -> tuple[LogEvent, ...]:
    """The events of the window, and those without a time."""
    if not len(times):
        return ()
    return tuple(e for e in events if e.t is None or times[0] - 1 <= e.t <= times[-1] + 1)


def _age(pages: _Pages, start: float) -> float | None:
    started = _first(pages.gauge("process_start_time_seconds"))
    return None if started is None else start - started


def _first(values: Floats) -> float | None:
    seen = values[np.isfinite(values)]
    return float(seen[0]) if len(seen) else None
