"""A window of a server described by a few numbers a phase, as the recording that its scraper would have made.

Each phase of a case says, all optional but ``seconds``:

``running waiting kv``                  gauges; a list is gone through second by second, over and over
``rate prompt output cached``           requests a second, their lengths (a number, or [[share, tokens], ...]), share cached
``itl_ms slow_tokens``                  inter-token latency (a list as for gauges); [share, milliseconds] of the late tokens
``steps``                               engine steps a second; else one for each ITL while requests run
``queue_s prefill_s front_s``           the parts of the time to first token
``preemptions refused errors``          events a second
``deferred``                            share of the waiting that is set aside
``api_cores engine_cores host_busy load_per_cpu run_delay throttled``  shares of a core or of the time
``throttled_periods pressure``          shares of the cgroup's periods, and of the time by the kernel's pressure
``client``                              {gap_s: seconds later than the server, itl: times the server's}
``gpu``                                 {util, power, limit, clock_mhz, bits, name}
``stopped: true``                       nothing advances
``away: true``                          no page; counters begin at zero after it, unless it is ``away: unreachable``
``peers``                               [{...}, ...] other engines of the page, each described as a phase is
``rss_gb``                              [from, to] resident memory of the API process
``mm mm_hits``                          media items a request, share of them in the cache
``spec``                                [share accepted, ...] by position of the draft
``transfer``                            {s, mb, failed: share, fetching: requests, external: share of the prompt}

``age_s`` of a case says for how long the server had been there when the window begins.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np

from whystall.model.recording import (
    ClientColumns,
    FailedScrape,
    GpuColumns,
    HostColumns,
    LogLine,
    ProcessColumns,
    Recording,
    SeriesKey,
    SeriesTable,
)
from whystall.model.target import Target

START = 1_800_000_000.0
_TTFT = (0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10, 20, 40, 80, 160, 640)
_ITL = (0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1, 2.5, 5, 7.5, 10, 20, 40, 80)
_LONG = (0.3, 0.5, 0.8, 1, 1.5, 2, 2.5, 5, 10, 15, 20, 30, 40, 50, 60, 120, 240, 480, 960, 1920, 7680)
_LENGTH = tuple(float(m * 10**e) for e in range(5) for m in (1, 2, 5))
_HISTOGRAMS = {
    "time_to_first_token_seconds": _TTFT,
    "inter_token_latency_seconds": _ITL,
    "request_queue_time_seconds": _LONG,
    "request_prefill_time_seconds": _LONG,
    "request_decode_time_seconds": _LONG,
    "e2e_request_latency_seconds": _LONG,
    "request_prompt_tokens": _LENGTH,
    "request_generation_tokens": _LENGTH,
    "iteration_tokens_total": _LENGTH,
}
_COUNTERS = (
    "generation_tokens_total",
    "prompt_tokens_total",
    "prefix_cache_queries_total",
    "prefix_cache_hits_total",
    "num_preemptions_total",
    "request_success_total",
    "admission_rejections_total",
)


def recording_of(case: dict[str, Any]) -> Recording:
    """The recording of a case: its phases one after the other at one scrape a second."""
    seconds = [(phase, i) for phase in case["phases"] for i in range(int(phase["seconds"]))]
    argv = list(case.get("argv", ()))
    age = case.get("age_s")
    pages = [_Page(argv, str(n), age) for n in range(1 + max(len(phase.get("peers", ())) for phase, _ in seconds))]
    table = _scraped(pages, seconds)
    log = tuple(LogLine(START + t, "INFO", "EngineCore", 1, text) for t, text in case.get("log", []))
    return Recording(
        target=Target(case.get("name", "case"), "recording"),
        metrics=table,
        gpu=_gpu(seconds),
        host=_host(seconds),
        client=_client(seconds),
        log=log,
        argv=tuple(case.get("argv", ())),
        version=case.get("version", "0.26.0"),
    )


def _scraped(pages: list[_Page], seconds: list[tuple[dict[str, Any], int]]) -> SeriesTable:
    """A page for each second, and one before the first, but for those in which the server is away."""
    times, failed = [], []
    first, fresh = seconds[0][0], True
    for t, (phase, i) in enumerate([(first, 0), *seconds]):
        if phase.get("away"):
            failed.append(FailedScrape(START + t, "ClientConnectorError"))
            fresh |= phase["away"] is True
            for page in pages:
                page.away(phase["away"] is True)
            continue
        times.append(START + t)
        for page, one in zip(pages, [phase, *phase.get("peers", ())], strict=True):
            page.scrape(one, i, counts=not fresh)
        fresh = False
    rows = [{k: v for page in pages for k, v in page.rows[n].items()} for n in range(len(times))]
    keys = tuple(dict.fromkeys(key for row in rows for key in row))
    values = np.array([[row.get(key, np.nan) for row in rows] for key in keys])
    return SeriesTable(times=np.array(times), keys=keys, values=values, failed=tuple(failed))


class _Page:
    """Counters and gauges of one engine as they grow."""

    def __init__(self, argv: list[str], engine: str = "0", age_s: float | None = None) -> None:
        self.age_s = age_s
        self.engine = engine
        given = dict(pairwise(argv))
        blocks, size = given.get("--num-gpu-blocks-override", "None"), given.get("--block-size", "16")
        self.info = (("block_size", size), ("engine", engine), ("num_gpu_blocks", blocks))
        self.rows: list[dict[SeriesKey, float]] = []
        self.away(True)

    def away(self, anew: bool) -> None:
        """The server cannot be reached; ``anew``: it begins with empty counters after it."""
        if anew:
            self.counters = dict.fromkeys((*_COUNTERS, "process_cpu_seconds_total", "http_requests_total"), 0.0)
            self.histograms = {n: [np.zeros(len(b) + 1), 0.0, 0.0] for n, b in _HISTOGRAMS.items()}

    def _key(self, name: str, **labels: str) -> SeriesKey:
        return _key(name, self.engine, **labels)

    def observe(self, name: str, value: float, count: float) -> None:
        if count <= 0:
            return
        counts, _, _ = self.histograms[name]
        counts[int(np.searchsorted(_HISTOGRAMS[name], value))] += count
        self.histograms[name][1] += value * count
        self.histograms[name][2] += count

    def scrape(self, phase: dict[str, Any], second: int, *, counts: bool = True) -> None:
        running, waiting, kv = (_at(phase.get(k, 0), second) for k in ("running", "waiting", "kv"))
        if counts and not phase.get("stopped"):
            self._work(phase | {"itl_ms": _at(phase.get("itl_ms", 10.0), second)}, running)
        row = {self._key(n): v for n, v in self.counters.items()}
        row |= {self._key("num_requests_running"): running, self._key("num_requests_waiting"): waiting}
        row[self._key("kv_cache_usage_perc")] = kv
        aside = waiting * phase.get("deferred", 0.0)
        for reason, value in (("capacity", waiting - aside), ("deferred", aside)):
            row[self._key("num_requests_waiting_by_reason", reason=reason)] = value
        for name, (buckets, total, count) in self.histograms.items():
            for bound, value in zip((*_HISTOGRAMS[name], np.inf), np.cumsum(buckets), strict=True):
                row[self._key(f"{name}_bucket", le="+Inf" if bound == np.inf else str(bound))] = float(value)
            row |= {self._key(f"{name}_sum"): total, self._key(f"{name}_count"): count}
        row[SeriesKey("vllm:cache_config_info", self.info)] = 1.0
        if "rss_gb" in phase:
            low, high = phase["rss_gb"]
            row[SeriesKey("process_resident_memory_bytes")] = 1e9 * (low + (high - low) * second / phase["seconds"])
        if "fetching" in phase.get("transfer", {}):
            row[self._key("num_requests_kv_fetch_by_stage", stage="in_progress")] = phase["transfer"]["fetching"]
        if self.age_s is not None:
            row[SeriesKey("process_start_time_seconds")] = START - self.age_s
        self.rows.append(row)

    def _work(self, phase: dict[str, Any], running: float) -> None:
        rate, itl = phase.get("rate", 0.0), phase.get("itl_ms", 10.0) / 1e3
        share, late = phase.get("slow_tokens", [0.0, 0.0])
        mean_itl = itl * (1 - share) + share * late / 1e3
        tokens = running / mean_itl if running else 0.0
        steps = phase.get("steps", 1 / mean_itl if running else 0.0)
        self.observe("inter_token_latency_seconds", itl, tokens * (1 - share))
        self.observe("inter_token_latency_seconds", late / 1e3, tokens * share)
        prompts, outputs = _mean(phase.get("prompt", 100)), _mean(phase.get("output", 100))
        queue, prefill = phase.get("queue_s", 0.0), phase.get("prefill_s", 0.02)
        self._requests(phase, rate, queue, prefill, outputs * mean_itl)
        cached = phase.get("cached", 0.0)
        grown = {
            "generation_tokens_total": tokens,
            "prompt_tokens_total": rate * prompts,
            "prefix_cache_queries_total": rate * prompts,
            "prefix_cache_hits_total": rate * prompts * cached,
            "num_preemptions_total": phase.get("preemptions", 0.0),
            "request_success_total": rate,
            "admission_rejections_total": phase.get("refused", 0.0),
            "process_cpu_seconds_total": phase.get("api_cores", 0.2),
            "http_requests_total": phase.get("errors", 0.0),
        }
        for name, value in grown.items():
            self.counters[name] += value
        for name, value in _subsystems(phase, rate, prompts, tokens).items():
            self.counters[name] = self.counters.get(name, 0.0) + value
        counts, _, _ = self.histograms["iteration_tokens_total"]
        work = tokens + rate * prompts * (1 - cached)
        counts[int(np.searchsorted(_LENGTH, work / steps if steps else 0))] += steps
        self.histograms["iteration_tokens_total"][1] += work
        self.histograms["iteration_tokens_total"][2] += steps

    def _requests(self, phase: dict[str, Any], rate: float, queue: float, prefill: float, decode: float) -> None:
        ttft = queue + prefill + phase.get("front_s", 0.005)
        for name, value in (
            ("time_to_first_token_seconds", ttft),
            ("request_queue_time_seconds", queue),
            ("request_prefill_time_seconds", prefill),
            ("request_decode_time_seconds", decode),
            ("e2e_request_latency_seconds", ttft + decode),
        ):
            self.observe(name, value, rate)
        for name, lengths in (("request_prompt_tokens", "prompt"), ("request_generation_tokens", "output")):
            for share, tokens in _mix(phase.get(lengths, 100)):
                self.observe(name, tokens, rate * share)


def _subsystems(phase: dict[str, Any], rate: float, prompts: float, tokens: float) -> dict[str, float]:
    """What the parts that a phase switches on count in a second."""
    found: dict[str, float] = {}
    if "mm" in phase:
        found |= {"mm_cache_queries_total": rate * phase["mm"]}
        found["mm_cache_hits_total"] = rate * phase["mm"] * phase.get("mm_hits", 0.0)
    if "spec" in phase:
        shares = phase["spec"]
        found |= {"spec_decode_num_drafts_total": tokens, "spec_decode_num_draft_tokens_total": tokens * len(shares)}
        found["spec_decode_num_accepted_tokens_total"] = tokens * sum(shares)
        found |= {f"{_PER_POSITION}|{n}": tokens * share for n, share in enumerate(shares)}
    if "transfer" in phase:
        about = phase["transfer"]
        failed, moved = rate * about.get("failed", 0.0), rate * (1 - about.get("failed", 0.0))
        found |= {"nixl_xfer_time_seconds_count": moved, "nixl_xfer_time_seconds_sum": moved * about.get("s", 0.05)}
        found |= {"nixl_bytes_transferred_sum": moved * 1e6 * about.get("mb", 100.0)}
        found |= {"nixl_num_failed_transfers_total": failed}
        found |= {"external_prefix_cache_queries_total": rate * prompts}
        found |= {"external_prefix_cache_hits_total": rate * prompts * about.get("external", 1.0)}
    return found


_PER_POSITION = "spec_decode_num_accepted_tokens_per_pos_total"


def _key(name: str, engine: str, **labels: str) -> SeriesKey:
    name, _, position = name.partition("|")
    if position:
        labels["position"] = position
    if name in ("process_cpu_seconds_total",):
        return SeriesKey(name)
    if name == "http_requests_total":
        return SeriesKey(name, (("handler", "/v1/completions"), ("method", "POST"), ("status", "5xx")))
    own = {"engine": engine, "model_name": "m", **labels}
    if name == "admission_rejections_total":
        own["reason"] = "max_num_queued_reqs"
        del own["engine"]
    return SeriesKey(f"vllm:{name}", tuple(sorted(own.items())))


def _at(value: Any, second: int) -> float:
    return float(value[second % len(value)]) if isinstance(value, list) else float(value)


def _mix(value: Any) -> list[tuple[float, float]]:
    return [(float(s), float(n)) for s, n in value] if isinstance(value, list) else [(1.0, float(value))]


def _mean(value: Any) -> float:
    return sum(share * tokens for share, tokens in _mix(value))


def _gpu(seconds: list[tuple[dict[str, Any], int]]) -> GpuColumns | None:
    rows = [phase.get("gpu") for phase, _ in seconds]
    if not all(rows):
        return None
    n = len(rows)

    def column(name: str, default: float) -> np.ndarray:
        return np.array([row.get(name, default) for row in rows], dtype=float)

    return GpuColumns(
        t=START + 0.5 + np.arange(n),
        gpu=np.zeros(n, dtype=np.int64),
        name=tuple(row.get("name", "NVIDIA H200") for row in rows),
        util_ratio=column("util", 1.0),
        mem_util_ratio=column("mem_util", 0.5),
        mem_used_bytes=column("mem_used", 130e9),
        mem_total_bytes=column("mem_total", 150e9),
        power_w=column("power", 500.0),
        power_limit_w=column("limit", 700.0),
        temp_c=column("temp", 50.0),
        sm_clock_hz=1e6 * column("clock_mhz", 1980.0),
        mem_clock_hz=column("mem_clock", 3.2e9),
        throttle_reasons=np.array([int(row.get("bits", 0)) for row in rows]),
        pcie_tx_bytes_per_s=column("pcie_tx", 1e7),
        pcie_rx_bytes_per_s=column("pcie_rx", 1e7),
        sm_max_clock_hz=1.98e9,
    )


def _client(seconds: list[tuple[dict[str, Any], int]]) -> ClientColumns | None:
    """A row for each request that finishes in a phase with a client."""
    rows = [
        (START + t + i / max(round(phase.get("rate", 0)), 1), phase)
        for t, (phase, _) in enumerate(seconds)
        if "client" in phase
        for i in range(round(phase.get("rate", 0)))
    ]
    if not rows:
        return None

    def column(value: Callable[[dict[str, Any]], float]) -> np.ndarray:
        return np.array([value(phase) for _, phase in rows])

    sent = np.array([t for t, _ in rows])
    ttft = column(lambda p: p.get("queue_s", 0) + p.get("prefill_s", 0.02) + 0.005 + p["client"].get("gap_s", 0))
    itl = column(lambda p: p.get("itl_ms", 10) / 1e3 * p["client"].get("itl", 1))
    tokens = column(lambda p: _mean(p.get("output", 100)))
    return ClientColumns(
        intended=sent,
        sent=sent,
        prompt_tokens=column(lambda p: _mean(p.get("prompt", 100))),
        output_tokens=tokens,
        chunks=tokens,
        ttft_s=ttft,
        e2e_s=ttft + itl * tokens,
        itl_p50_s=itl,
        itl_p99_s=itl,
        itl_max_s=itl,
        error=(None,) * len(rows),
    )


def _host(seconds: list[tuple[dict[str, Any], int]]) -> HostColumns | None:
    if not any("host_busy" in phase or "engine_cores" in phase for phase, _ in seconds):
        return None

    def column(name: str, default: float) -> np.ndarray:
        return np.array([seconds[0][0].get(name, default)] + [phase.get(name, default) for phase, _ in seconds])

    def process(name: str, role: str, pid: int, cores: np.ndarray, delay: np.ndarray) -> ProcessColumns:
        return ProcessColumns(name, pid, role, np.cumsum(cores), np.full(len(cores), 1e9), np.cumsum(delay))

    delay = column("run_delay", 0.0)
    return HostColumns(
        t=START + np.arange(len(seconds) + 1, dtype=float),
        load1=8 * column("load_per_cpu", 0.3),
        cpus=8,
        busy_ratio=column("host_busy", 0.3),
        processes=(
            process("APIServer", "api", 1, column("api_cores", 0.2), delay * 0),
            process("EngineCore", "engine", 2, column("engine_cores", 0.4), delay),
        ),
        throttled_s=np.cumsum(column("throttled", 0.0)),
        throttled_periods_ratio=column("throttled_periods", np.nan),
        psi_cpu_ratio=column("pressure", np.nan),
    )
