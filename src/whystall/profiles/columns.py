"""Decoded events to numpy columns, piece by piece, exact to the nanosecond."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from decimal import ROUND_HALF_EVEN, Decimal
from itertools import count
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from .trace import KERNEL, Calls, Collective, DeviceMemory, GpuWork, Ints, Ranges

# Below 2^43 microseconds a float64 is within half a nanosecond of what was written; at epoch times it is not.
FLOAT_EXACT_US = 2.0**43
_MAX_US = 9_000_000_000_000_000  # beyond it nanoseconds do not fit in an int64
_NS_PER_US = 1000


class Names:
    """Text to a number, counted from 0 in the order of first sight."""

    def __init__(self) -> None:
        self.ids: dict[str, int] = defaultdict(count().__next__)

    def table(self) -> tuple[str, ...]:
        return tuple(self.ids)


class NeedsExact(Exception):
    """These times are too large for float64: decode them again as text. Never leaves the reader."""


def nanoseconds(values: Sequence[int | float]) -> tuple[Ints, NDArray[np.bool_]]:
    """Microseconds to nanoseconds, and which are usable. Raises :class:`NeedsExact` where float64 is too coarse.

    floor(us) * 1000 + rint(fraction * 1000), because a product of the float with 1000 rounds twice.
    """
    raw = np.array(values)
    if raw.dtype.kind == "O" or raw.dtype.kind == "u":  # some integer is beyond int64
        raw = np.array([float(value) for value in values])
    if raw.dtype.kind == "i":
        good = np.abs(raw) <= _MAX_US
        return np.where(good, raw, 0) * _NS_PER_US, good
    good = np.isfinite(raw) & (np.abs(raw) <= _MAX_US)
    raw = np.where(good, raw, 0.0)
    if len(raw) and np.abs(raw).max() >= FLOAT_EXACT_US:
        raise NeedsExact
    whole = np.floor(raw)
    return whole.astype(np.int64) * _NS_PER_US + np.rint((raw - whole) * _NS_PER_US).astype(np.int64), good


def exact_nanoseconds(texts: Sequence[Any]) -> tuple[Ints, NDArray[np.bool_]]:
    """As :func:`nanoseconds`, from the numbers' text: exact at any size."""
    found = [_ns_of(bytes(text)) if isinstance(text, msgspec.Raw) else None for text in texts]
    good = np.array([value is not None for value in found], dtype=bool)
    return np.array([value or 0 for value in found], dtype=np.int64), good


def _ns_of(text: bytes) -> int | None:
    whole, _, fraction = text.partition(b".")
    if whole.isdigit() and len(whole) < 17 and len(fraction) <= 3 and (fraction.isdigit() or not fraction):
        return int(whole) * _NS_PER_US + int(fraction.ljust(3, b"0"))
    try:
        value = Decimal(text.decode())
    except (ArithmeticError, UnicodeDecodeError):
        return None
    if not value.is_finite() or abs(value) > _MAX_US:
        return None
    return int((value * _NS_PER_US).to_integral_value(ROUND_HALF_EVEN))


class Timed:
    """Start and duration of a batch of events, with the rows that cannot be used taken out of ``events``."""

    def __init__(self, events: list[Any], exact: bool) -> None:
        convert = exact_nanoseconds if exact else nanoseconds
        self.start, started = convert([event.ts for event in events])
        self.duration, timed = convert([event.dur for event in events])
        good = started & timed & (self.duration >= 0)
        self.rejected = int(len(events) - good.sum())
        self.events = events
        if self.rejected:
            self.start, self.duration = self.start[good], self.duration[good]
            self.events = [event for event, keep in zip(events, good, strict=True) if keep]


class Column:
    """A column that grows by pieces. ``take`` joins them once and lets go of them."""

    def __init__(self, dtype: Any) -> None:
        self.dtype = dtype
        self.parts: list[NDArray[Any]] = []

    def add(self, values: Any) -> None:
        self.parts.append(np.asarray(values, dtype=self.dtype))

    def add_list(self, values: list[int]) -> None:
        try:
            self.parts.append(np.array(values, dtype=self.dtype))
        except OverflowError:
            info = np.iinfo(self.dtype)
            self.parts.append(np.array([v if info.min <= v <= info.max else -1 for v in values], dtype=self.dtype))

    def take(self) -> NDArray[Any]:
        parts, self.parts = self.parts, []
        return np.concatenate(parts) if parts else np.zeros(0, dtype=self.dtype)


class Numbers:
    """Thread and stream ids, which may be text in some writers' files: text gets numbers below -1."""

    def __init__(self) -> None:
        self._texts: dict[str, int] = {}

    def __call__(self, values: list[int | str]) -> list[int]:
        if set(map(type, values)) <= {int}:
            return values  # type: ignore[return-value]
        return [value if isinstance(value, int) else self._number(value) for value in values]

    def _number(self, text: str) -> int:
        tail = text.rsplit(" ", 1)[-1]
        if tail.isdigit() and len(tail) < 10:
            return int(tail)
        return self._texts.setdefault(text, -2 - len(self._texts))


class GpuWorkColumns:
    def __init__(self, names: Names, numbers: Numbers) -> None:
        self._names, self._numbers = names.ids, numbers
        self._long = {key: Column(np.int64) for key in ("start", "duration", "correlation", "bytes")}
        self._short = {key: Column(np.int32) for key in ("name", "device", "stream")}
        self._kind = Column(np.int8)
        self._rows = 0
        self.collectives: list[Collective] = []

    def add(self, timed: Timed, kind: int | list[int], document: int) -> None:
        args = [event.args for event in timed.events]
        names = self._names
        self._long["start"].add(timed.start)
        self._long["duration"].add(timed.duration)
        self._short["name"].add_list([names[event.name] for event in timed.events])
        self._short["device"].add_list(self._devices(timed.events, args))
        self._short["stream"].add_list(self._numbers([a.stream for a in args]))
        self._long["correlation"].add_list(linked([a.correlation for a in args], document))
        self._long["bytes"].add_list([-1] * len(args) if kind == KERNEL else self._numbers([a.bytes for a in args]))
        self._kind.add([kind] * len(args) if isinstance(kind, int) else kind)
        if kind == KERNEL:
            self._note_collectives(args)
        self._rows += len(args)

    def _devices(self, events: list[Any], args: list[Any]) -> list[int]:
        devices = [a.device for a in args]
        if min(devices, default=0) >= 0:
            return devices
        return [a.device if a.device >= 0 else self._numbers([e.pid])[0] for e, a in zip(events, args, strict=True)]

    def _note_collectives(self, args: list[Any]) -> None:
        for row, a in enumerate(args, self._rows):
            if a.collective:
                self.collectives.append(
                    Collective(row, a.collective, a.dtype, a.in_elements, a.out_elements, a.group, a.group_size)
                )

    def take(self) -> GpuWork:
        columns = {key: column.take() for key, column in (self._long | self._short).items()}
        return GpuWork(kind=self._kind.take(), **columns)


class CallColumns:
    def __init__(self, names: Names, numbers: Numbers) -> None:
        self._names, self._numbers = names.ids, numbers
        self._columns = {key: Column(np.int64) for key in ("start", "duration", "thread", "correlation")}
        self._name = Column(np.int32)

    def add(self, timed: Timed, document: int) -> None:
        names = self._names
        self._columns["start"].add(timed.start)
        self._columns["duration"].add(timed.duration)
        self._name.add_list([names[event.name] for event in timed.events])
        self._columns["thread"].add_list(self._numbers([event.tid for event in timed.events]))
        self._columns["correlation"].add_list(linked([event.args.correlation for event in timed.events], document))

    def take(self) -> Calls:
        return Calls(name=self._name.take(), **{key: column.take() for key, column in self._columns.items()})


class RangeColumns:
    def __init__(self, names: Names, numbers: Numbers) -> None:
        self._names, self._numbers = names.ids, numbers
        self._columns = {key: Column(np.int64) for key in ("start", "duration", "thread")}
        self._name = Column(np.int32)

    def add(self, timed: Timed) -> None:
        self._columns["start"].add(timed.start)
        self._columns["duration"].add(timed.duration)
        self._name.add_list([self._names[event.name] for event in timed.events])
        self._columns["thread"].add_list(self._numbers([event.tid for event in timed.events]))

    def take(self) -> Ranges:
        return Ranges(name=self._name.take(), **{key: column.take() for key, column in self._columns.items()})


def linked(correlations: list[int], document: int) -> list[int]:
    """Correlation ids that do not meet those of another document in the same file."""
    return correlations if not document else [c + (document << 40) if c >= 0 else c for c in correlations]


class MemoryFold:
    """``[memory]`` instants folded to peaks. Device Type 1 is the GPU; rows of the CPU allocator are mixed in."""

    def __init__(self) -> None:
        self._devices: dict[int, DeviceMemory] = {}

    def add(self, events: list[Any]) -> None:
        args = [event.args for event in events if event.args.device_type == 1]
        devices = np.array([a.device_id for a in args], dtype=np.float64)
        allocated = np.array([a.allocated for a in args], dtype=np.float64)  # under 2^53 bytes: exact
        reserved = np.array([a.reserved for a in args], dtype=np.float64)
        seen = (allocated >= 0) & (reserved >= 0)
        for device in np.unique(devices[seen]):
            rows = seen & (devices == device)
            self._fold(int(device), allocated[rows], reserved[rows])

    def _fold(self, device: int, allocated: NDArray[np.float64], reserved: NDArray[np.float64]) -> None:
        old = self._devices.get(device) or DeviceMemory(device, 0, -1, -1, -1)
        top = reserved.max()
        at_top = allocated[reserved == top].max()
        peak = max((old.peak_reserved_bytes, old.allocated_at_peak_reserved_bytes), (int(top), int(at_top)))
        highest = max(old.peak_allocated_bytes, int(allocated.max()))
        self._devices[device] = DeviceMemory(device, old.samples + len(allocated), highest, *peak)

    def take(self) -> tuple[DeviceMemory, ...]:
        return tuple(self._devices[device] for device in sorted(self._devices))
