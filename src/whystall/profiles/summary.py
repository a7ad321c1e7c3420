"""What a timeline says, in numbers: a part of the JSON contract ``whystall.trace/1``. Times are whole nanoseconds (``_ns``).

A figure that the file cannot give is None. Shares are of summed GPU time unless the name says otherwise.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from whystall.model.text import Text

from .trace import Device, DeviceMemory


class ClassTime(msgspec.Struct, frozen=True):
    """GPU time of one class of kernels. ``ns`` sums durations, ``union_ns`` counts time at which any ran."""

    id: str
    family: str
    count: int
    ns: int
    union_ns: int
    share: float


class FamilyTime(msgspec.Struct, frozen=True):
    id: str
    title: Text
    count: int
    ns: int
    share: float


class KernelTime(msgspec.Struct, frozen=True):
    """All launches of one kernel, copy or set."""

    name: str
    class_id: str = msgspec.field(name="class")
    count: int
    ns: int
    share: float
    mean_ns: float
    max_ns: int


class Idle(msgspec.Struct, frozen=True):
    """Time at which a device had nothing to run, between its first and last work; the parts sum to ``idle_ns``.

    ``launch_ns``: the next kernel was still being launched, in the same step. ``between_steps_ns``: the same, but the
    next kernel is of another step. ``copy_ns``: the host sat in a blocking copy. ``device_ns``: the next work had been
    launched and waited on the GPU (dependencies, gaps inside a graph). ``unlinked_ns``: no launch in the window.
    """

    idle_ns: int
    launch_ns: int
    between_steps_ns: int
    copy_ns: int
    device_ns: int
    unlinked_ns: int
    gaps_under_10us: int
    gaps_under_1ms: int
    gaps_over_1ms: int
    longest_ns: int


class Communication(msgspec.Struct, frozen=True):
    """Collectives. ``exposed_ns`` is the part of ``union_ns`` at which no other kernel ran. A collective's time
    includes its wait for the other ranks: see ``RankTimes``."""

    count: int
    ns: int
    union_ns: int
    exposed_ns: int
    share: float
    exposed_ratio: float | None
    bus_bytes_per_s: float | None = None


class CopyTime(msgspec.Struct, frozen=True):
    """Copies and sets of one direction: ``HtoD`` and so on, the host's memory ``Pinned`` or ``Pageable`` where told."""

    kind: str
    memory: str
    count: int
    ns: int
    bytes: int | None
    bytes_per_s: float | None
    small: int  # under 64 KB: these cost their latency, not their bytes
    exposed_ns: int  # while no kernel ran


class Launches(msgspec.Struct, frozen=True):
    """How work reached the GPU. ``delay`` is from the start of the launching call to the start of the work (eager)."""

    kernels: int
    kernels_per_s: float | None
    mean_kernel_ns: float | None
    short_kernels_share: float | None  # under 5 us, of all kernels
    shorter_than_launch_share: float | None  # of eager kernels with a known call
    graph_kernels: int
    graph_launches: int
    eager_launches: int
    unlinked: int
    unlinked_share: float
    delay_p50_ns: float | None
    delay_p99_ns: float | None
    call_p50_ns: float | None


class StepTime(msgspec.Struct, frozen=True):
    """One step. ``gpu_*`` is the span of the work that it launched; None where none is linked to it."""

    index: int
    name: str
    phase: str
    context_requests: int | None
    context_tokens: int | None
    generation_requests: int | None
    generation_tokens: int | None
    start_ns: int
    host_ns: int
    gpu_start_ns: int | None
    gpu_end_ns: int | None
    busy_ns: int
    ns: int
    kernels: int
    graph_kernels: int
    families: dict[str, int]


class PhaseTime(msgspec.Struct, frozen=True):
    """All steps of one phase (``outside``: work that no step annotation launched)."""

    phase: str
    steps: int
    ns: int
    busy_ns: int
    share: float
    host_p50_ns: float | None
    busy_p50_ns: float | None
    kernels_per_step: float | None
    graph_share: float
    families: tuple[FamilyTime, ...]


class CriticalPath(msgspec.Struct, frozen=True):
    """One longest chain back from the last work: the time it spent on the GPU, waiting in the GPU, launching, and on
    the host. The parts sum to ``total_ns``."""

    total_ns: int
    gpu_ns: int
    queue_ns: int
    launch_ns: int
    host_ns: int
    host_in_steps_ns: int  # of host_ns
    families: dict[str, int]


class Roofline(msgspec.Struct, frozen=True):
    """Matrix products whose shapes the trace has, against the device's peaks (dense, from its data sheet)."""

    operation: str
    count: int
    ns: int
    flop: int
    bytes: int
    flop_per_s: float
    bytes_per_s: float
    flop_ratio: float | None
    bytes_ratio: float | None
    bound: Literal["compute", "memory", "neither"] | None


class Note(msgspec.Struct, frozen=True):
    """A sentence about a figure. ``level``: ``fact``, ``rule`` (a folk threshold), or ``missing``."""

    id: str
    level: Literal["fact", "rule", "missing"]
    text: Text


class TraceSummary(msgspec.Struct, frozen=True):
    """One file, analysed."""

    file: str
    format: str
    rank: int | None
    world_size: int | None
    devices: tuple[Device, ...]
    device_ids: tuple[int, ...]
    start_ns: int
    base_ns: int | None
    window_ns: int
    events: int
    rows: int
    ns: int
    busy_ns: int
    idle: Idle
    classes: tuple[ClassTime, ...]
    families: tuple[FamilyTime, ...]
    kernels: tuple[KernelTime, ...]
    communication: Communication | None
    copies: tuple[CopyTime, ...]
    launches: Launches
    phases: tuple[PhaseTime, ...]
    steps: tuple[StepTime, ...]
    critical_path: CriticalPath | None = None
    memory: tuple[DeviceMemory, ...] = ()
    roofline: tuple[Roofline, ...] = ()
    overhead: dict[str, int] = {}
    notes: tuple[Note, ...] = ()

    @property
    def busy_ratio(self) -> float | None:
        """Share of the window at which a device had something to run, over all devices."""
        total = self.busy_ns + self.idle.idle_ns
        return self.busy_ns / total if total else None

    def family(self, id: str) -> FamilyTime | None:
        return next((family for family in self.families if family.id == id), None)
