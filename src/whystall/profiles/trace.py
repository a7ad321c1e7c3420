"""What a timeline profiler saw of one process: GPU work, the calls that launched it, and named ranges.

All times are int64 nanoseconds on the file's clock. Every format is read into this, so the analysis is written once.
"""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from whystall.model.recording import InputWarning

Ints = NDArray[np.int64]
SmallInts = NDArray[np.int32]

KERNEL, MEMCPY, MEMSET = 0, 1, 2
ABSENT = -1


def used(numbers: SmallInts, size: int) -> list[int]:
    """Which of the numbers from 0 to ``size`` occur; a tenth of what numpy's unique takes."""
    found: list[int] = np.flatnonzero(np.bincount(numbers, minlength=size)).tolist()
    return found


class GpuWork(msgspec.Struct, frozen=True):
    """One row per kernel, copy and set on a GPU. ``name`` indexes the trace's names; -1 is "not given"."""

    start: Ints
    duration: Ints
    name: SmallInts
    kind: NDArray[np.int8]
    device: SmallInts
    stream: SmallInts
    correlation: Ints
    bytes: Ints

    @property
    def end(self) -> Ints:
        return self.start + self.duration

    def __len__(self) -> int:
        return len(self.start)


class Calls(msgspec.Struct, frozen=True):
    """One row per runtime or driver call on the host; ``correlation`` links it to the GPU work it launched."""

    start: Ints
    duration: Ints
    name: SmallInts
    thread: Ints
    correlation: Ints

    @property
    def end(self) -> Ints:
        return self.start + self.duration

    def __len__(self) -> int:
        return len(self.start)


class Ranges(msgspec.Struct, frozen=True):
    """One row per named range on a host thread (``record_function``, NVTX)."""

    start: Ints
    duration: Ints
    name: SmallInts
    thread: Ints

    @property
    def end(self) -> Ints:
        return self.start + self.duration

    def __len__(self) -> int:
        return len(self.start)


class Collective(msgspec.Struct, frozen=True):
    """What a collective kernel's arguments say. ``row`` is its row in :class:`GpuWork`; sizes in elements."""

    row: int
    name: str
    dtype: str
    in_elements: int
    out_elements: int
    group: str
    group_size: int


class DeviceMemory(msgspec.Struct, frozen=True):
    """The caching allocator of one device over the window, from the profiler's ``[memory]`` instants."""

    device: int
    samples: int
    peak_allocated_bytes: int
    peak_reserved_bytes: int
    allocated_at_peak_reserved_bytes: int  # the highest of the samples at that reservation

    @property
    def fragmentation_ratio(self) -> float | None:
        """1 - allocated / reserved at the moment of the highest reservation."""
        if self.peak_reserved_bytes <= 0:
            return None
        return 1 - self.allocated_at_peak_reserved_bytes / self.peak_reserved_bytes


class Device(msgspec.Struct, frozen=True):
    """A GPU as the file's header describes it; ``name`` is "" where the profiler left it out."""

    id: int
    name: str
    sms: int = 0
    memory_bytes: int = 0
    compute_major: int = 0
    compute_minor: int = 0


class Trace(msgspec.Struct, frozen=True):
    """One file. ``base_ns`` + a time is unix nanoseconds, None where the file has no such base."""

    file: str
    format: str
    names: tuple[str, ...]
    work: GpuWork
    calls: Calls
    ranges: Ranges
    overhead: dict[str, int] = {}  # the profiler's own, by name, ns
    collectives: tuple[Collective, ...] = ()
    memory: tuple[DeviceMemory, ...] = ()
    devices: tuple[Device, ...] = ()
    rank: int | None = None
    world_size: int | None = None
    base_ns: int | None = None
    events: int = 0
    header: dict[str, Any] = {}
    warnings: tuple[InputWarning, ...] = ()
