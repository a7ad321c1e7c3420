"""Matrix products whose shapes the trace has, against the peaks of the device's data sheet."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import Any, Literal

import msgspec

from .bytestream import ByteStream, ReadLimits
from .columns import NeedsExact, Timed
from .pieces import EventReader
from .summary import Roofline
from .trace import Device


class Peak(msgspec.Struct, frozen=True):
    """Dense peaks of a device: FLOP/s by bytes per element of the operands, and bytes/s of its memory."""

    match: str
    flop_per_s: dict[int, float]
    bytes_per_s: float


# Vendor data sheets, dense (without sparsity), tensor cores for 1 and 2 bytes, vector units for 4. First match wins.
PEAKS = (
    Peak("GB200", {1: 5.0e15, 2: 2.5e15, 4: 8.0e13}, 8.0e12),
    Peak("B200", {1: 4.5e15, 2: 2.25e15, 4: 7.5e13}, 8.0e12),
    Peak("GH200", {1: 1.979e15, 2: 9.89e14, 4: 6.7e13}, 4.0e12),
    Peak("H200", {1: 1.979e15, 2: 9.89e14, 4: 6.7e13}, 4.8e12),
    Peak("H100 PCIe", {1: 1.513e15, 2: 7.56e14, 4: 5.1e13}, 2.0e12),
    Peak("H100", {1: 1.979e15, 2: 9.89e14, 4: 6.7e13}, 3.35e12),
    Peak("H20", {1: 2.96e14, 2: 1.48e14, 4: 4.4e13}, 4.0e12),
    Peak("A100", {1: 6.24e14, 2: 3.12e14, 4: 1.95e13}, 2.039e12),
    Peak("L40S", {1: 7.33e14, 2: 3.62e14, 4: 9.16e13}, 8.64e11),
    Peak("L4", {1: 2.42e14, 2: 1.21e14, 4: 3.03e13}, 3.0e11),
    Peak("V100", {2: 1.25e14, 4: 1.57e13}, 9.0e11),
    Peak("MI325X", {1: 2.6149e15, 2: 1.3074e15, 4: 1.634e14}, 6.0e12),
    Peak("MI300X", {1: 2.6149e15, 2: 1.3074e15, 4: 1.634e14}, 5.3e12),
    Peak("MI250X", {2: 3.83e14, 4: 4.79e13}, 3.2e12),
)

_WANTED = {"kernel": "kernel", "Kernel": "kernel", "cpu_op": "operator", "Operator": "operator"}
# Where the two operands stand among an operator's inputs.
_OPERANDS = {"aten::mm": 0, "aten::bmm": 0, "aten::_scaled_mm": 0, "aten::addmm": 1, "aten::baddbmm": 1}
_ELEMENT_BYTES = {
    "c10::BFloat16": 2,
    "c10::Half": 2,
    "float": 4,
    "double": 8,
    "c10::Float8_e4m3fn": 1,
    "c10::Float8_e4m3fnuz": 1,
    "c10::Float8_e5m2": 1,
    "signed char": 1,
}


class Product(msgspec.Struct, frozen=True):
    """One product's cost: floating point operations, bytes of both operands and the result, bytes per element."""

    flop: int
    bytes: int
    element: int


def product(name: str, dims: Any, types: Any) -> Product | None:
    """The cost of one operator call from its input shapes; None where it is no product or its shapes are not given.

    FLOP = 2 * batch * M * N * K. Bytes count every operand once and the result in the operands' type.
    """
    first = _OPERANDS.get(name)
    if first is None or not isinstance(dims, list) or not isinstance(types, list) or len(types) <= first:
        return None
    shapes = dims[first : first + 2]
    element = _ELEMENT_BYTES.get(types[first]) if isinstance(types[first], str) else None
    if element is None or len(shapes) < 2 or not all(_is_shape(shape) for shape in shapes):
        return None
    left, right = shapes
    if len(left) != len(right) or left[-1] != right[-2] or left[:-2] != right[:-2]:
        return None
    batch = left[0] if len(left) == 3 else 1
    m, k, n = left[-2], left[-1], right[-1]
    return Product(2 * batch * m * n * k, batch * element * (m * k + k * n + m * n), element)


def _is_shape(shape: object) -> bool:
    return (
        isinstance(shape, list)
        and len(shape) in (2, 3)
        and all(isinstance(size, int) and 0 < size < 1 << 40 for size in shape)
    )


def read_roofline(path: Path, devices: tuple[Device, ...], limits: ReadLimits | None = None) -> tuple[Roofline, ...]:
    """A second pass over a file recorded with shapes: products by operator, most time first.

    Kernels are joined to operators by External id. Under graph replay few have one: the rest is not counted.
    """
    products: dict[int, tuple[str, Product]] = {}
    times: dict[int, int] = defaultdict(int)
    with ByteStream(path, limits) as stream:
        reader = EventReader(stream, _WANTED)
        for batch in reader.batches():
            _fold(batch.events, batch.again, reader, products, times)
    return _rows(products, times, peak_of(devices))


def _fold(
    events: list[Any], again: Any, reader: EventReader, products: dict[int, tuple[str, Product]], times: Any
) -> None:
    for event in events:
        if event.cat in ("cpu_op", "Operator"):
            args = event.args
            cost = product(event.name, getattr(args, "dims", None), getattr(args, "types", None))
            if cost is not None and args.external >= 0:
                products[args.external] = (event.name, cost)
    kernels = [event for event in events if event.cat in ("kernel", "Kernel") and event.args.external >= 0]
    try:
        timed = Timed(kernels, reader.exact)
    except NeedsExact:
        reader.exact = True
        kernels = [event for event in again() if event.cat in ("kernel", "Kernel") and event.args.external >= 0]
        timed = Timed(kernels, True)
    for event, duration in zip(timed.events, timed.duration.tolist(), strict=True):
        times[event.args.external] += duration


def peak_of(devices: tuple[Device, ...]) -> Peak | None:
    """The data sheet of the first device that has a known name."""
    for device in devices:
        for peak in PEAKS:
            if peak.match in device.name:
                return peak
    return None


def _rows(products: dict[int, tuple[str, Product]], times: dict[int, int], peak: Peak | None) -> tuple[Roofline, ...]:
    groups: dict[tuple[str, int], list[int]] = defaultdict(lambda: [0, 0, 0, 0])
    for external, (name, cost) in products.items():
        ns = times.get(external, 0)
        if ns:
            group = groups[name, cost.element]
            for index, amount in enumerate((1, ns, cost.flop, cost.bytes)):
                group[index] += amount
    found = [_row(name, element, group, peak) for (name, element), group in groups.items()]
    return tuple(sorted(found, key=lambda row: -row.ns))


def _row(name: str, element: int, group: list[int], peak: Peak | None) -> Roofline:
    count, ns, flop, moved = group
    flop_per_s, bytes_per_s = flop / ns * 1e9, moved / ns * 1e9
    top = peak.flop_per_s.get(element) if peak else None
    flop_ratio = flop_per_s / top if top else None
    bytes_ratio = bytes_per_s / peak.bytes_per_s if peak else None
    return Roofline(
        f"{name} ({element * 8} bit)", count, ns, flop, moved, flop_per_s, bytes_per_s, flop_ratio, bytes_ratio,
        _bound(flop_ratio, bytes_ratio),
    )  # fmt: skip


def _bound(flop_ratio: float | None, bytes_ratio: float | None) -> Literal["compute", "memory", "neither"] | None:
    """Above 60% of a peak that unit binds: Nsight Compute's own threshold; below it in both, latency or launch does."""
    if flop_ratio is None or bytes_ratio is None:
        return None
    if max(flop_ratio, bytes_ratio) < 0.6:
        return "neither"
    return "compute" if flop_ratio >= bytes_ratio else "memory"
