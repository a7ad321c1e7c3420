"""Phases to the table of metrics that a scraper would have made of them. What was not stated is on no page."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from whystall.model.recording import SeriesKey, SeriesTable

from .phase import Phase

START = 1_800_000_000.0
_TIMES = (
    0.001,
    0.005,
    0.01,
    0.02,
    0.04,
    0.06,
    0.08,
    0.1,
    0.25,
    0.5,
    0.75,
    1,
    2.5,
    5,
    7.5,
    10,
    20,
    40,
    80,
    160,
    640,
    2560,
)
_ITL = (0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1, 2.5, 5, 7.5, 10, 20, 40, 80)
_LENGTHS = tuple(float(m * 10**e) for e in range(6) for m in (1, 2, 5))
_BOUNDS = {
    "time_to_first_token_seconds": _TIMES,
    "inter_token_latency_seconds": _ITL,
    "request_queue_time_seconds": _TIMES,
    "e2e_request_latency_seconds": _TIMES,
    "request_prompt_tokens": _LENGTHS,
    "request_generation_tokens": _LENGTHS,
    "iteration_tokens_total": _LENGTHS,
}


def table_of(engines: Sequence[Sequence[Phase]], scrapes: Sequence[float], info: dict[str, str]) -> SeriesTable:
    """The table of one or more engines' phases, scraped at ``scrapes`` (seconds from the start, the first one 0).

    ``info`` are labels of ``cache_config_info``.
    """
    rows: dict[SeriesKey, np.ndarray] = {}
    times = np.asarray(scrapes, dtype=float)
    for number, phases in enumerate(engines):
        rows |= _Engine(str(number), times).rows(phases)
        if info:
            labels = tuple(sorted({**info, "engine": str(number)}.items()))
            rows[SeriesKey("vllm:cache_config_info", labels)] = np.ones(len(times))
    return SeriesTable(times=START + times, keys=tuple(rows), values=np.stack(list(rows.values())))


class _Engine:
    """One engine's series: gauges at the scrapes, counters as integrals of the phases' rates."""

    def __init__(self, number: str, times: np.ndarray) -> None:
        self.number = number
        self.times = times

    def rows(self, phases: Sequence[Phase]) -> dict[SeriesKey, np.ndarray]:
        found = self._gauges(phases)
        for name, rates in _rates(phases).items():
            found |= self._counter(name, phases, rates)
        for name, shares in _histograms(phases).items():
            found |= self._histogram(name, phases, shares)
        return found

    def _key(self, name: str, **labels: str) -> SeriesKey:
        return SeriesKey(f"vllm:{name}", tuple(sorted({"engine": self.number, "model_name": "m", **labels}.items())))

    def _gauges(self, phases: Sequence[Phase]) -> dict[SeriesKey, np.ndarray]:
        found = {}
        ends = np.cumsum([phase.seconds for phase in phases])
        names = {"num_requests_running": "running", "num_requests_waiting": "waiting", "kv_cache_usage_perc": "kv"}
        for name, field in names.items():
            if not any(getattr(phase, field).known for phase in phases):
                continue
            place = np.minimum(np.searchsorted(ends, self.times), len(phases) - 1)
            values = []
            for t, at in zip(self.times, place, strict=True):
                phase = phases[at]
                values.append(getattr(phase, field).at(1 - (ends[at] - t) / phase.seconds))
            found[self._key(name)] = np.asarray(values)
        return found

    def _integral(self, phases: Sequence[Phase], rates: Sequence[float]) -> np.ndarray:
        edges = np.concatenate(([0.0], np.cumsum([phase.seconds for phase in phases])))
        grown = [0.0 if math.isnan(rate) else rate * phase.seconds for rate, phase in zip(rates, phases, strict=True)]
        return np.asarray(np.interp(self.times, edges, np.concatenate(([0.0], np.cumsum(grown)))))

    def _counter(self, name: str, phases: Sequence[Phase], rates: Sequence[float]) -> dict[SeriesKey, np.ndarray]:
        if all(math.isnan(rate) for rate in rates):
            return {}
        if name == "http_requests_total":
            labels = (("handler", "/v1/completions"), ("method", "POST"), ("status", "5xx"))
            return {SeriesKey(name, labels): self._integral(phases, rates)}
        return {self._key(name): self._integral(phases, rates)}

    def _histogram(self, name: str, phases: Sequence[Phase], shares: list[_Rated]) -> dict[SeriesKey, np.ndarray]:
        if not any(rate > 0 for rate, _ in shares):
            return {}
        bounds = _BOUNDS[name]
        found = {}
        for at, bound in enumerate((*bounds, math.inf)):
            below = [
                rate * sum(share for share, value in mixture if np.searchsorted(bounds, value) <= at)
                for rate, mixture in shares
            ]
            label = "+Inf" if math.isinf(bound) else str(bound)
            found[self._key(f"{name}_bucket", le=label)] = self._integral(phases, below)
        total = [rate * sum(share * value for share, value in mixture) for rate, mixture in shares]
        found[self._key(f"{name}_sum")] = self._integral(phases, total)
        found[self._key(f"{name}_count")] = self._integral(phases, [rate for rate, _ in shares])
        return found


_Rated = tuple[float, tuple[tuple[float, float], ...]]  # observations a second, and what they are


def _rates(phases: Sequence[Phase]) -> dict[str, list[float]]:
    tokens = [phase.generation.middle for phase in phases]
    prompts = [phase.prompts for phase in phases]
    hits = [phase.prompts * phase.hit for phase in phases]
    return {
        "generation_tokens_total": tokens,
        "prompt_tokens_total": prompts,
        "prefix_cache_queries_total": [p if math.isfinite(h) else math.nan for p, h in zip(prompts, hits, strict=True)],
        "prefix_cache_hits_total": hits,
        "request_success_total": [phase.rate for phase in phases],
        "num_preemptions_total": [phase.preemptions for phase in phases],
        "spec_decode_num_accepted_tokens_total": [phase.accepted for phase in phases],
        "spec_decode_num_draft_tokens_total": [phase.drafted for phase in phases],
        "http_requests_total": [phase.errors for phase in phases],
    }


def _histograms(phases: Sequence[Phase]) -> dict[str, list[_Rated]]:
    return {
        "time_to_first_token_seconds": [(_known(p.rate, p.ttft), p.ttft) for p in phases],
        "inter_token_latency_seconds": [(_known(p.generation.middle, p.itl), p.itl) for p in phases],
        "request_queue_time_seconds": [_one(p.rate, p.queue) for p in phases],
        "e2e_request_latency_seconds": [_one(p.rate, p.e2e) for p in phases],
        "request_prompt_tokens": [_one(p.rate, p.prompt) for p in phases],
        "request_generation_tokens": [_one(p.rate, p.output) for p in phases],
        "iteration_tokens_total": [_steps(p) for p in phases],
    }


def _known(rate: float, mixture: tuple[tuple[float, float], ...]) -> float:
    return rate if mixture and rate > 0 else 0.0


def _one(rate: float, value: float) -> _Rated:
    return (rate, ((1.0, value),)) if rate > 0 and math.isfinite(value) else (0.0, ())


def _steps(phase: Phase) -> _Rated:
    """Steps a second, and the tokens that each holds: every running request gets one token a step."""
    tokens, running = phase.generation.middle, phase.running.middle
    if not (tokens > 0 and running > 0):
        return 0.0, ()
    steps = tokens / running
    if not 0 < steps < math.inf:
        return 0.0, ()
    work = tokens + (0.0 if math.isnan(phase.prompts) else phase.prompts * (1 - (phase.hit if phase.hit > 0 else 0.0)))
    return steps, ((1.0, work / steps),)
