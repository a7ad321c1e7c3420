"""What one engine did, interval by interval: the input of every piece of evidence.

An interval lies between two successive scrapes. Arrays named ``…_delta`` or ending in a plain noun are increases over the
interval, ``…_end`` are gauges at its end; all have the length ``m`` of ``t_end`` and hold NaN where nothing was seen.
"""

from __future__ import annotations

import msgspec
import numpy as np
from numpy.typing import NDArray

from .configuration import Configuration, IterationColumns, LogEvent, SettingShift, Start
from .diagnosis import Engine, Identity, Limit
from .recording import ClientColumns, Contrast, LinkColumns, SeriesTable, SpanRow

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


class HistogramDelta(msgspec.Struct, frozen=True):
    """A histogram's increase by interval.

    ``bounds`` are the page's finite upper bounds, ascending, ``counts[i, j]`` the observations of interval ``i`` in
    bucket ``j`` (``j = len(bounds)`` is the one up to +Inf), ``sum`` and ``count`` the increases of the totals.
    """

    bounds: Floats
    counts: Floats
    sum: Floats
    count: Floats


class GpuState(msgspec.Struct, frozen=True):
    """The GPUs of the server by interval: means over devices and samples; ``clock_min_hz`` and so on over devices."""

    util_ratio: Floats
    mem_util_ratio: Floats
    power_w: Floats
    power_limit_w: Floats
    temp_c: Floats
    sm_clock_hz: Floats
    throttle_bits: NDArray[np.int64]  # OR over the interval's samples, -1 where not seen
    max_clock_hz: float  # highest clock seen or known
    devices: int
    name: str
    mem_used_bytes: float
    mem_total_bytes: float
    # By interval and device, in the order of their numbers: what a mean over devices hides.
    device_power_w: Floats | None = None
    device_clock_hz: Floats | None = None


class HostProcess(msgspec.Struct, frozen=True):
    """One process of the server by interval: cores used, resident bytes, seconds ready but not running per second."""

    name: str
    role: str
    cores: Floats
    rss_bytes: Floats
    run_delay_ratio: Floats


class HostState(msgspec.Struct, frozen=True):
    """The host by interval: shares of a core by role, share of all cores busy, run delay and throttling per second."""

    busy_ratio: Floats
    load_per_cpu: Floats
    cpus: int | None
    cpu_quota: float | None
    api_cores: Floats
    engine_cores: Floats
    worker_cores: Floats
    run_delay_ratio: Floats  # seconds ready but not running, per second, over the server's processes
    throttled_ratio: Floats  # seconds throttled by the cgroup's quota, per second
    psi_cpu_ratio: Floats
    allowed_cpus: int | None
    rss_bytes: Floats
    throttled_periods_ratio: Floats | None = None  # of the cgroup's scheduling periods, those that ended in a pause
    mem_available_bytes: Floats | None = None
    processes: tuple[HostProcess, ...] = ()


class ClientState(msgspec.Struct, frozen=True):
    """The client's rows of the window by interval of arrival, and the rows themselves for distributions."""

    rows: ClientColumns
    sent: Floats
    errors: Floats
    rejected: Floats
    ttft_mean_s: Floats
    send_lag_p99_s: float
    max_in_flight: float


class Subsystems(msgspec.Struct, frozen=True):
    """Parts of vLLM that must be switched on, by interval; NaN where the page has none of it.

    ``accepted_by_position[i, j]`` are the draft tokens accepted at position ``j``, shape ``[m, positions]``. ``fetching_end``
    are requests whose KV cache is under way from another server, ``transfers`` finished transfers with their seconds and
    bytes, ``transfer_failures`` those that failed, were notified in vain or expired.
    """

    drafts: Floats
    accepted_by_position: Floats
    mm_queries: Floats
    mm_hits: Floats
    external_queries: Floats
    fetching_end: Floats
    transfers: Floats
    transfer_s: Floats
    transfer_bytes: Floats
    transfer_failures: Floats


class Peer(msgspec.Struct, frozen=True):
    """Another engine of the same page, on the same intervals."""

    id: str
    running: Floats
    waiting: Floats
    kv_usage: Floats
    steps: Floats
    tokens: Floats  # generated
    computed: Floats  # prompt tokens
    itl_s: Floats  # mean
    ttft_sum: Floats  # seconds to first tokens, of as many requests as ``ttft_count``
    ttft_count: Floats


class EngineState(msgspec.Struct, frozen=True):
    """One engine's window, by interval. A latency's mean is its ``histogram.sum / histogram.count``."""

    engine: Engine
    configuration: Configuration
    limits: tuple[Limit, ...]
    start: float  # unix seconds of the first scrape
    t_start: Floats  # seconds after ``start``
    t_end: Floats
    dt: Floats
    valid: Bools  # False where a restart, a reset or a stepped clock makes the interval unusable
    running_start: Floats
    running_end: Floats
    waiting_start: Floats
    waiting_end: Floats
    waiting_capacity_end: Floats
    waiting_deferred_end: Floats
    kv_usage_start: Floats
    kv_usage_end: Floats
    generation_tokens: Floats
    prompt_tokens: Floats  # of prompts whose first token came in the interval, cached ones included
    computed_tokens: Floats  # of them, computed here
    cached_tokens: Floats
    external_tokens: Floats
    prefix_queries: Floats
    prefix_hits: Floats
    steps: Floats  # engine steps with output
    step_tokens: Floats  # tokens counted by these steps (a prompt counts whole at its last chunk)
    preemptions: Floats
    finished: Floats
    first_tokens: Floats  # requests that got their first token
    rejections: Floats
    http_errors: Floats  # responses with status 5xx
    http_responses: Floats
    api_cores: Floats  # CPU of the API process, cores
    accepted_tokens: Floats  # speculative decoding
    draft_tokens: Floats
    ttft: HistogramDelta
    itl: HistogramDelta
    queue: HistogramDelta
    prefill: HistogramDelta
    decode: HistogramDelta
    e2e: HistogramDelta
    prompt_length: HistogramDelta
    output_length: HistogramDelta
    gc_collections: Floats
    gpu: GpuState | None = None
    host: HostState | None = None
    client: ClientState | None = None
    iterations: IterationColumns | None = None
    events: tuple[LogEvent, ...] = ()
    spans: tuple[SpanRow, ...] = ()
    contrasts: tuple[Contrast, ...] = ()
    links: LinkColumns | None = None
    identities: tuple[Identity, ...] = ()
    restarts: tuple[float, ...] = ()  # seconds after ``start``
    unanswered_before_s: float = (
        0.0  # from the first failed scrape to the first page, where that failed one is before it
    )
    unanswered_after_s: float = 0.0  # from the last page to the last failed scrape after it
    health_ok: bool | None = None  # the last answer of /health
    unknown_names: tuple[str, ...] = ()
    process_age_s: float | None = None  # of the API process at the window's start
    served_tokens: float | None = None  # generated before the first page, since the engine started
    resident_bytes: Floats | None = None  # of the API process, at the interval's end
    subsystems: Subsystems | None = None
    peers: tuple[Peer, ...] = ()
    running_beside: Floats | None = None  # requests that run on the other engines of the page, of any model
    starts: tuple[Start, ...] = ()  # those that began before the window's end, oldest first
    shifts: tuple[SettingShift, ...] = ()  # settings that a restart inside the window changed
    signals: tuple[str, ...] = ("metrics",)
    series: SeriesTable | None = None  # this engine's own series as they stood, for those who rebuild its load

    @property
    def seconds(self) -> float:
        return float(self.t_end[-1]) if len(self.t_end) else 0.0

    def limit(self, name: str) -> Limit | None:
        return next((limit for limit in self.limits if limit.name == name), None)

    def limit_value(self, name: str) -> float:
        found = self.limit(name)
        return found.value if found else float("nan")
