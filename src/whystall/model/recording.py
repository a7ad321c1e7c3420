"""What was seen of one server, as it was found: the common output of every source.

Arrays are numpy, float64 unless said otherwise; a value that was not seen is NaN (numbers) or None (objects), never 0.
Times are unix seconds on the collector's clock.
"""

from __future__ import annotations

import msgspec
import numpy as np
from numpy.typing import NDArray

from .target import Target
from .text import Text

Floats = NDArray[np.float64]


class SeriesKey(msgspec.Struct, frozen=True, order=True):
    """One time series as it stood on the page: the raw metric name and its labels, sorted by name."""

    name: str
    labels: tuple[tuple[str, str], ...] = ()

    def label(self, name: str, default: str = "") -> str:
        for key, value in self.labels:
            if key == name:
                return value
        return default


class FailedScrape(msgspec.Struct, frozen=True):
    """A scrape that gave no page: when, and the error's name and text."""

    t: float
    error: str


class SeriesTable(msgspec.Struct, frozen=True):
    """All series of all scrapes. ``values[k, i]`` is series ``keys[k]`` at ``times[i]``, NaN where absent."""

    times: Floats
    keys: tuple[SeriesKey, ...]
    values: Floats
    types: dict[str, str] = {}
    failed: tuple[FailedScrape, ...] = ()

    @classmethod
    def empty(cls) -> SeriesTable:
        return cls(times=np.zeros(0), keys=(), values=np.zeros((0, 0)))


class GpuColumns(msgspec.Struct, frozen=True):
    """GPU samples, one row a device and sample; all columns have the same length."""

    t: Floats
    gpu: NDArray[np.int64]
    name: tuple[str, ...]
    util_ratio: Floats  # share of the sample period with any kernel resident; not how busy the SMs are
    mem_util_ratio: Floats
    mem_used_bytes: Floats
    mem_total_bytes: Floats
    power_w: Floats
    power_limit_w: Floats
    temp_c: Floats
    sm_clock_hz: Floats
    mem_clock_hz: Floats
    throttle_reasons: NDArray[np.int64]  # NVML clock event bits; -1 where not seen
    pcie_tx_bytes_per_s: Floats
    pcie_rx_bytes_per_s: Floats
    sm_max_clock_hz: float = float("nan")  # the device's highest SM clock where it is known


class ProcessColumns(msgspec.Struct, frozen=True):
    """One process of the server over time, aligned with the rows of :class:`HostColumns` (NaN where absent).

    ``cpu_s`` is cumulative CPU seconds (user and system), ``run_delay_s`` cumulative seconds ready but not on a CPU
    (``/proc/PID/schedstat``), ``role`` one of ``api engine worker other``.
    """

    name: str
    pid: int
    role: str
    cpu_s: Floats
    rss_bytes: Floats
    run_delay_s: Floats | None = None
    allowed_cpus: int | None = None  # cores that its affinity mask allows


class HostColumns(msgspec.Struct, frozen=True):
    """The host over time. ``throttled_s`` is the cgroup's cumulative CFS throttling."""

    t: Floats
    load1: Floats
    cpus: int | None
    busy_ratio: Floats  # share of all cores busy since the row before; NaN in the first row
    processes: tuple[ProcessColumns, ...] = ()
    throttled_s: Floats | None = None
    throttled_periods_ratio: Floats | None = None
    cpu_quota: float | None = None  # cores that the cgroup allows
    psi_cpu_ratio: Floats | None = None  # share of time in which some task waited for a CPU, since the row before
    mem_available_bytes: Floats | None = None


class LinkColumns(msgspec.Struct, frozen=True):
    """Round trips from the reader's host to others, a row a round of probes to one ``peer`` (host:port): seconds, NaN where
    none came back, and how many of ``sent`` were lost."""

    t: Floats
    peer: tuple[str, ...]
    rtt_min_s: Floats
    rtt_median_s: Floats
    rtt_max_s: Floats
    sent: Floats
    lost: Floats


class Sender(msgspec.Struct, frozen=True):
    """Who a request was of, as far as its source says: its id, the adapter it asked for, its tenant or user."""

    request: str = ""
    adapter: str = ""
    tenant: str = ""


class ClientColumns(msgspec.Struct, frozen=True):
    """The client's view, a row a finished request (those still open when the load stopped are missing)."""

    intended: Floats
    sent: Floats
    prompt_tokens: Floats
    output_tokens: Floats
    chunks: Floats
    ttft_s: Floats
    e2e_s: Floats
    itl_p50_s: Floats
    itl_p99_s: Floats
    itl_max_s: Floats
    error: tuple[str | None, ...]
    sender: tuple[Sender, ...] = ()  # empty where no row names one


class LogLine(msgspec.Struct, frozen=True):
    """One line of a server's log. ``t`` is None where the line has no readable time, ``process`` as vLLM names it."""

    t: float | None
    level: str
    process: str
    pid: int | None
    text: str


class SpanRow(msgspec.Struct, frozen=True):
    """One finished request span (``llm_request``): unix times, phases in seconds, NaN where missing."""

    start: float
    end: float
    request_id: str
    ttft_s: float
    e2e_s: float
    queue_s: float
    prefill_s: float
    decode_s: float
    prompt_tokens: float
    output_tokens: float
    adapter: str = ""
    tenant: str = ""


class InputWarning(msgspec.Struct, frozen=True):
    """Something about the input that was handled: an id such as ``truncated_gzip``, and what was done."""

    id: str
    text: Text
    file: str = ""


class Contrast(msgspec.Struct, frozen=True):
    """The same load with and without one thing, as somebody measured it, and how many times worse it is with it.

    ``feature``: structured_output, lora, speculative, sampling, multimodal, eager, kernels, link, offload, profiler, power,
    first_run, expert_balance or version; "" where nothing says what is different. ``figure`` is what was compared
    (``itl.p50``). ``since``: from when on (unix seconds) the recording shows the worse of the two.
    """

    feature: str
    figure: str
    ratio: float
    since: float = 0.0


class Health(msgspec.Struct, frozen=True):
    """What ``/health`` answered: the time and the HTTP status (0 when nothing answered)."""

    t: float
    status: int


class Recording(msgspec.Struct, frozen=True):
    """All that was collected of one address. Parts that nothing could be read of are None or empty."""

    target: Target
    metrics: SeriesTable
    gpu: GpuColumns | None = None
    host: HostColumns | None = None
    client: ClientColumns | None = None
    log: tuple[LogLine, ...] = ()
    spans: tuple[SpanRow, ...] = ()
    server_info: str = ""  # the body of /server_info as it came: text form or JSON
    version: str = ""
    models: str = ""  # the body of /v1/models
    argv: tuple[str, ...] = ()  # the server's command line where it was given or found
    health: tuple[Health, ...] = ()
    contrasts: tuple[Contrast, ...] = ()
    links: LinkColumns | None = None  # between the server's host and others
    warnings: tuple[InputWarning, ...] = ()
