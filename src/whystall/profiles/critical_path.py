"""One longest chain of work back from the end: through GPU streams, launches and the host.

A row of GPU work waited for the work that ended last before it when that was still running as the launching call began
(or came by the same graph launch), else for the call. A call was made when the host got to it; the host got going when
its last blocking call returned, and that call returned because some GPU work ended.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right

import numpy as np
from numpy.typing import NDArray

from .intervals import union
from .linked import LinkedTrace
from .summary import CriticalPath
from .trace import ABSENT, Ints


def critical_path(linked: LinkedTrace) -> CriticalPath | None:
    """Walk back from the last work to end; None without GPU work. Linear in the length of the chain."""
    if not len(linked.trace.work):
        return None
    walk = _Walk(linked)
    walk.run()
    return walk.result()


class _Walk:
    def __init__(self, linked: LinkedTrace) -> None:
        work, calls = linked.trace.work, linked.trace.calls
        self.linked = linked
        self.start, self.end = _numbers(work.start), _numbers(work.end)
        self.call, self.call_start = _numbers(linked.call), _numbers(calls.start)
        self.previous = _numbers(_ended_before(linked))
        waits = _waits(linked)
        self.wait_end, self.wait_for = waits[0].tolist(), waits[1].tolist()
        self.first = int(work.start.min())
        self.row = int(np.argmax(work.end))
        self.time = self.last = self.end[self.row]
        self.parts = {"gpu": 0, "queue": 0, "launch": 0, "host": 0}
        self.of_class = [0] * len(linked.classifier.ids)
        self.host: list[tuple[int, int]] = []

    def run(self) -> None:
        row: int = self.row
        for _ in range(2 * len(self.start) + 2):  # each turn goes to earlier work; the bound is for damaged input
            self._spend("gpu", self.start[row], row)
            following = self._before(row)
            if following == ABSENT:
                return
            row = following

    def _spend(self, part: str, until: int, row: int | None = None) -> None:
        ns = max(self.time - until, 0)
        self.parts[part] += ns
        if row is not None:
            self.of_class[int(self.linked.classes[row])] += ns
        if part == "host" and ns:
            self.host.append((until, self.time))
        self.time = min(self.time, until)

    def _before(self, row: int) -> int:
        """The work that ``row`` waited for, with the time in between spent; ABSENT at the beginning."""
        previous, call = self.previous[row], self.call[row]
        launched = call != ABSENT and self.call_start[call] <= self.time
        if previous != ABSENT and (
            not launched or call == self.call[previous] or self.end[previous] >= self.call_start[call]
        ):
            self._spend("queue", self.end[previous])
            return int(previous)
        if not launched:
            return ABSENT
        self._spend("launch", self.call_start[call])
        index = bisect_right(self.wait_end, self.time) - 1
        if index < 0:
            self._spend("host", min(self.time, self.first))
            return ABSENT
        awaited = self.wait_for[index]
        self._spend("host", self.end[awaited])
        return int(awaited)

    def result(self) -> CriticalPath:
        steps = self.linked.steps
        inside = union(steps.start, steps.end)
        begin, end = (np.array([pair[side] for pair in self.host], dtype=np.int64) for side in (0, 1))
        families: dict[str, int] = {}
        for number, ns in enumerate(self.of_class):
            if ns:
                family = self.linked.classifier.family(self.linked.classifier.ids[number])
                families[family] = families.get(family, 0) + ns
        return CriticalPath(
            total_ns=self.last - self.time,
            gpu_ns=self.parts["gpu"],
            queue_ns=self.parts["queue"],
            launch_ns=self.parts["launch"],
            host_ns=self.parts["host"],
            host_in_steps_ns=int(inside.within(begin, end).sum()),
            families=families,
        )


def _numbers(column: Ints) -> array[int]:
    """A column to be asked for single Python numbers: as fast as a list, without a list's forty bytes a row."""
    return array("q", column.astype(np.int64, copy=False).tobytes())


def _ended_before(linked: LinkedTrace) -> NDArray[np.int64]:
    """For each row of work the last on its device to end by the time it starts, whatever its stream; -1 for none.

    Streams wait for each other by events that few profilers record, so the last to end is taken for the one waited for.
    """
    work = linked.trace.work
    previous = np.full(len(work), ABSENT, dtype=np.int64)
    for device in linked.device_ids:
        rows = np.flatnonzero(work.device == device)
        order = rows[np.lexsort((work.start[rows], work.end[rows]))]
        place = np.searchsorted(work.end[order], work.start[order], side="right") - 1
        place = np.minimum(place, np.arange(len(order)) - 1)  # work of no length does not wait for itself
        previous[order] = np.where(place >= 0, order[np.maximum(place, 0)], ABSENT)
    return previous


def _waits(linked: LinkedTrace) -> tuple[Ints, NDArray[np.int64]]:
    """Blocking calls during which GPU work ended: when they returned, and the last work to end by then."""
    work, calls = linked.trace.work, linked.trace.calls
    rows = np.flatnonzero(linked.blocking_calls())
    order = np.argsort(work.end, kind="stable")
    ends = work.end[order]
    last = np.searchsorted(ends, calls.end[rows], side="right") - 1
    real = last >= 0
    real[real] = ends[last[real]] > calls.start[rows[real]]
    rows, last = rows[real], last[real]
    by_return = np.argsort(calls.end[rows], kind="stable")
    return calls.end[rows][by_return], order[last][by_return]
