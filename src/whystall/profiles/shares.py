"""GPU time by class, family, kernel, copy and phase. Sums for shares, unions for time at which something ran."""

from __future__ import annotations

import re

import numpy as np
from numpy.typing import NDArray

from whystall.model.text import Text

from .intervals import union_length
from .kernels import FAMILIES
from .linked import LinkedTrace
from .summary import ClassTime, Communication, CopyTime, FamilyTime, KernelTime
from .trace import KERNEL

Mask = NDArray[np.bool_]
_COPY_NAME = re.compile(r"^(?:Memcpy|Memset)\s*(\w+)?\s*(?:\(([^)]*)\))?")
_SMALL_COPY = 64 * 1024


def device_union(linked: LinkedTrace, rows: Mask) -> int:
    """Time at which any of ``rows`` ran, summed over devices, ns."""
    work, total = linked.trace.work, 0
    for device in linked.device_ids:
        mine = rows & (work.device == device)
        total += union_length(work.start[mine], work.end[mine])
    return total


def class_times(linked: LinkedTrace) -> tuple[ClassTime, ...]:
    """Every class that occurs, largest first."""
    work, found = linked.trace.work, []
    total = int(work.duration.sum())
    for number, id in enumerate(linked.classifier.ids):
        rows = linked.classes == number
        count = int(rows.sum())
        if count:
            ns = int(work.duration[rows].sum())
            family = linked.classifier.family(id)
            found.append(ClassTime(id, family, count, ns, device_union(linked, rows), share(ns, total)))
    return tuple(sorted(found, key=lambda row: -row.ns))


def share(part: int, whole: int) -> float:
    return part / whole if whole else 0.0


def family_times(linked: LinkedTrace, rows: Mask | None = None) -> tuple[FamilyTime, ...]:
    """Every family that occurs among ``rows`` (all without), largest first; shares are of those rows."""
    work = linked.trace.work
    selected = slice(None) if rows is None else rows
    classes, duration = linked.classes[selected], work.duration[selected]
    counts = np.bincount(classes, minlength=len(linked.classifier.ids))
    total = int(duration.sum())
    sums: dict[str, list[int]] = {}
    for number, id in enumerate(linked.classifier.ids):
        if counts[number]:
            entry = sums.setdefault(linked.classifier.family(id), [0, 0])
            entry[0] += int(counts[number])
            entry[1] += int(duration[classes == number].sum())
    found = [FamilyTime(id, FAMILIES.get(id) or Text(id), n, ns, share(ns, total)) for id, (n, ns) in sums.items()]
    return tuple(sorted(found, key=lambda row: -row.ns))


def kernel_times(linked: LinkedTrace, top: int | None = None) -> tuple[KernelTime, ...]:
    """Work by name, most time first."""
    work, names = linked.trace.work, linked.trace.names
    total = int(work.duration.sum())
    found = []
    order = np.argsort(work.name, kind="stable")
    ids, first = np.unique(work.name[order], return_index=True)
    for number, rows in zip(ids.tolist(), np.split(order, first[1:]), strict=False):
        duration = work.duration[rows]
        ns, count = int(duration.sum()), len(rows)
        id = linked.classifier.ids[int(linked.classes[rows[0]])]
        found.append(KernelTime(names[number], id, count, ns, share(ns, total), ns / count, int(duration.max())))
    return tuple(sorted(found, key=lambda row: (-row.ns, row.name))[:top])


def communication(linked: LinkedTrace) -> Communication | None:
    """Collective kernels against all other kernels, per device, by unions; None where there are none."""
    work, comm = linked.trace.work, linked.collective
    if not comm.any():
        return None
    ns, together = int(work.duration[comm].sum()), device_union(linked, comm)
    others = linked.kernel & ~comm
    exposed = device_union(linked, comm | others) - device_union(linked, others)
    return Communication(
        count=int(comm.sum()),
        ns=ns,
        union_ns=together,
        exposed_ns=exposed,
        share=share(ns, int(work.duration.sum())),
        exposed_ratio=exposed / together if together else None,
        bus_bytes_per_s=_bus_bandwidth(linked),
    )


_DTYPE_BYTES = {"Float": 4, "Half": 2, "BFloat16": 2, "Double": 8, "Int": 4, "Long": 8, "Char": 1, "Byte": 1, "Bool": 1}
_BUS_FACTOR = {"allreduce": 2.0, "_allgather_base": 1.0, "allgather": 1.0, "reduce_scatter": 1.0, "all_to_all": 1.0}


def _bus_bandwidth(linked: LinkedTrace) -> float | None:
    """Bytes over the bus per second, as NCCL's own tests define it: algorithm bytes times 2(n-1)/n or (n-1)/n."""
    moved, ns = 0.0, 0
    for entry in linked.trace.collectives:
        size = _DTYPE_BYTES.get(entry.dtype)
        elements = max(entry.in_elements, entry.out_elements)
        name = entry.name.lower()
        factor = next((value for key, value in _BUS_FACTOR.items() if name.startswith(key)), None)
        if size and factor and elements > 0 and entry.group_size > 1:
            moved += elements * size * factor * (entry.group_size - 1) / entry.group_size
            ns += int(linked.trace.work.duration[entry.row])
    return moved / ns * 1e9 if ns else None


def copy_times(linked: LinkedTrace) -> tuple[CopyTime, ...]:
    """Copies and sets by direction and kind of host memory."""
    work, names = linked.trace.work, linked.trace.names
    copies = work.kind != KERNEL
    kinds: dict[tuple[str, str], list[int]] = {}
    for number in np.unique(work.name[copies]).tolist():
        kinds.setdefault(_copy_kind(names[number]), []).append(number)
    kernels = device_union(linked, linked.kernel)
    found = [_copy(linked, kind, copies & np.isin(work.name, ids), kernels) for kind, ids in kinds.items()]
    return tuple(sorted(found, key=lambda row: -row.ns))


def _copy(linked: LinkedTrace, kind: tuple[str, str], rows: Mask, kernels: int) -> CopyTime:
    work = linked.trace.work
    sized = rows & (work.bytes >= 0)
    ns, moved = int(work.duration[rows].sum()), int(work.bytes[sized].sum())
    timed = int(work.duration[sized].sum())
    return CopyTime(
        kind=kind[0],
        memory=kind[1],
        count=int(rows.sum()),
        ns=ns,
        bytes=moved if sized.any() else None,
        bytes_per_s=moved / timed * 1e9 if sized.any() and timed else None,
        small=int((work.bytes[sized] < _SMALL_COPY).sum()),
        exposed_ns=device_union(linked, linked.kernel | rows) - kernels,
    )


def _copy_kind(name: str) -> tuple[str, str]:
    match = _COPY_NAME.match(name)
    if name.startswith("Memset") or match is None:
        return ("memset", "")
    inside = match.group(2) or ""
    memory = next((kind for kind in ("Pageable", "Pinned") if kind in inside), "")
    return (match.group(1) or "copy", memory)
