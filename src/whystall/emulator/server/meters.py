"""The counters, gauges and histograms of one engine, filled from its journal when somebody looks.

When each is counted is vllm.md section 1: phases of a request at its end, preemptions with the output that tells of
them, iteration tokens per output, the gauges as of the last result.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from whystall.emulator.engine.engine import Engine
from whystall.emulator.engine.request import Request

from .page import Labels, PageTemplate

Floats = NDArray[np.float64]
_PREFIX = "vllm:"
_KEPT_STEPS = 100_000  # rows of the journal that stay behind for gaps that reach back


class Histogram:
    """Counts by bucket, sum and count; ``bounds`` are the finite upper bounds."""

    def __init__(self, bounds: list[float]) -> None:
        self.bounds = bounds
        self._array = np.asarray(bounds)
        self.counts = np.zeros(len(bounds) + 1)
        self.sum = 0.0
        self._place = {str(bound): place for place, bound in enumerate(bounds)} | {
            "+Inf": len(bounds),
            "count": len(bounds),
        }
        self._below: list[float] | None = None  # cumulative counts, until somebody adds

    def add(self, values: Floats | list[float], weights: Floats | None = None) -> None:
        array = np.asarray(values, dtype=np.float64)
        if not len(array):
            return
        places = np.searchsorted(self._array, array, side="left")
        self.counts += np.bincount(places, weights=weights, minlength=len(self.counts))
        self._below = None
        self.sum += float(array.sum() if weights is None else (array * weights).sum())

    def part(self, part: str) -> float | None:
        """``sum``, ``count`` or the cumulative count of a bucket by its bound."""
        if part == "sum":
            return self.sum
        if part == "created":
            return None
        if self._below is None:
            self._below = np.cumsum(self.counts).tolist()
        place = self._place.get(part)
        return self._below[bisect_left(self.bounds, float(part)) if place is None else place]


class Meters:
    """What ``/metrics`` says of one engine. ``absorb`` takes in what its journal holds and empties it."""

    def __init__(self, engine: Engine, template: PageTemplate, created: float) -> None:
        self.engine = engine
        self.created = created
        self.histograms = {name: Histogram(template.bounds(name)) for name in template.histograms()}
        self.counters: dict[tuple[str, str], float] = {}
        self.running = self.waiting = self.deferred = 0
        self.usage_ratio = 0.0
        self.steps = 0
        self._rows = 0

    def count(self, name: str, by: float, label: str = "") -> None:
        key = (f"{_PREFIX}{name}_total", label)
        self.counters[key] = self.counters.get(key, 0.0) + by

    def observe(self, name: str, values: Iterable[float], weights: Floats | None = None) -> None:
        histogram = self.histograms.get(_PREFIX + name)
        if histogram is not None:
            histogram.add(np.fromiter(values, dtype=np.float64), weights)

    def absorb(self) -> None:
        """Take in what the engine did since the last time."""
        journal = self.engine.journal
        self._steps()
        back = self.engine.clock.profile.back_s
        self.observe("inter_token_latency_seconds", journal.odd_gap)
        self.observe("time_to_first_token_seconds", [r.first_token - r.arrival + back for r in journal.first])
        self.count("num_preemptions", len(journal.preemptions))
        for request in journal.first:
            cached = request.hit_tokens
            self.count("prompt_tokens", request.prompt_tokens)
            self.count("prompt_tokens_by_source", request.prompt_tokens - cached, "local_compute")
            self.count("prompt_tokens_by_source", cached, "local_cache_hit")
            self.count("prompt_tokens_cached", cached)
            self.count("prompt_tokens_cached_by_source", cached, "device")
        self._finished(journal.finished, back)
        for column in (journal.odd_t, journal.odd_gap, journal.first, journal.finished, journal.preemptions):
            column.clear()
        self._forget()

    def work(self) -> tuple[float, float]:
        """Steps and tokens that the engine has computed so far."""
        prompts = self.counters.get((f"{_PREFIX}prompt_tokens_by_source_total", "local_compute"), 0.0)
        return float(self.steps), prompts + self.counters.get((f"{_PREFIX}generation_tokens_total", ""), 0.0)

    def _steps(self) -> None:
        journal, first = self.engine.journal, self._rows
        gaps, regular = np.asarray(journal.gap[first:]), np.asarray(journal.regular[first:], dtype=np.float64)
        generated = np.asarray(journal.generated[first:], dtype=np.float64)
        self._rows = len(journal.end)
        self.steps += len(gaps)
        if not len(gaps):
            return
        self.observe("inter_token_latency_seconds", gaps[regular > 0], regular[regular > 0])
        tokens = (generated + np.asarray(journal.prompts[first:]))[generated > 0]
        self.observe("iteration_tokens_total", tokens)
        self.count("generation_tokens", float(generated.sum()))
        self.running, self.waiting = journal.running[-1], journal.waiting[-1]
        self.deferred = len(self.engine.scheduler.deferred)
        self.usage_ratio = self.engine.scheduler.pool.usage_ratio

    def _finished(self, requests: list[Request], back: float) -> None:
        for request in requests:
            self.count("request_success", 1, request.reason)
        columns: dict[str, list[float]] = {
            "e2e_request_latency_seconds": [r.finished - r.arrival + back for r in requests],
            "request_queue_time_seconds": [r.scheduled - r.queued for r in requests],
            "request_prefill_time_seconds": [r.first_token - r.scheduled for r in requests],
            "request_decode_time_seconds": [r.last_token - r.first_token for r in requests],
            "request_inference_time_seconds": [r.last_token - r.scheduled for r in requests],
            "request_time_per_output_token_seconds": [
                (r.last_token - r.first_token) / max(r.output_tokens - 1, 1) for r in requests
            ],
            "request_num_preemptions": [r.preemptions for r in requests],
            "request_prompt_tokens": [r.prompt_tokens for r in requests],
            "request_generation_tokens": [r.output_tokens for r in requests],
            "request_max_num_generation_tokens": [r.output_tokens for r in requests],
            "request_params_max_tokens": [r.max_tokens for r in requests],
            "request_params_n": [1 for _ in requests],
            "request_prefill_kv_computed_tokens": [r.prompt_tokens - r.hit_tokens for r in requests],
        }
        for name, values in columns.items():
            self.observe(name, values)

    def _forget(self) -> None:
        """Drop rows that nothing reaches back to any more."""
        journal = self.engine.journal
        old = self._rows - _KEPT_STEPS
        if old < _KEPT_STEPS:
            return
        for name in ("end", "gap", "regular", "generated", "prompts", "running", "waiting", "free_blocks"):
            del getattr(journal, name)[:old]
        journal.dropped += old
        self._rows -= old

    def value(self, family: str, part: str, labels: Labels) -> float | None:
        """The value of one sample; None where the recorded one stays."""
        if part == "created":
            return self.created
        if family in self.histograms:
            return self.histograms[family].part(part)
        name = family.removeprefix(_PREFIX)
        if name == "num_requests_waiting_by_reason":
            return float(self.deferred if labels["reason"] == "deferred" else self.waiting - self.deferred)
        gauge = self._gauge(name)
        if gauge is not None:
            return gauge
        if family.startswith(_PREFIX) and name.endswith("_total"):
            label = next((labels[key] for key in ("finished_reason", "source", "reason") if key in labels), "")
            return self.counters.get((family, label), 0.0)
        return None

    def _gauge(self, name: str) -> float | None:
        """What stands as of now, and the prefix cache's own counters; None for any other name."""
        match name:
            case "num_requests_running":
                return float(self.running)
            case "num_requests_waiting":
                return float(self.waiting)
            case "kv_cache_usage_perc":
                return float(self.usage_ratio)
            case "prefix_cache_queries_total":
                return float(self.engine.scheduler.prefix_queries)
            case "prefix_cache_hits_total":
                return float(self.engine.scheduler.prefix_hits)
        return None
