"""Sets of time intervals as sorted, disjoint columns. Exact: int64 nanoseconds in, int64 nanoseconds out."""

from __future__ import annotations

import msgspec
import numpy as np

from .trace import Ints


class Intervals(msgspec.Struct, frozen=True):
    """Disjoint intervals in order; ``end[i] < start[i + 1]``. Those of no length keep their place but add nothing."""

    start: Ints
    end: Ints

    @property
    def length(self) -> int:
        """Sum of the lengths, ns."""
        return int((self.end - self.start).sum())

    def covered(self, times: Ints) -> Ints:
        """How much of the set lies before each of ``times``, ns."""
        total = np.concatenate(([0], np.cumsum(self.end - self.start)))
        index = np.searchsorted(self.start, times, side="right")
        inside = np.zeros(len(times), dtype=np.int64)
        some = index > 0
        inside[some] = np.minimum(times[some], self.end[index[some] - 1]) - self.start[index[some] - 1]
        before: Ints = total[np.maximum(index - 1, 0)] + inside
        return before

    def within(self, start: Ints, end: Ints) -> Ints:
        """How much of the set lies inside each window, ns."""
        return self.covered(end) - self.covered(start)

    def gaps(self) -> Intervals:
        """What lies between them."""
        return Intervals(self.end[:-1], self.start[1:])


def union(start: Ints, end: Ints) -> Intervals:
    """The union of any intervals, in any order; those that touch become one."""
    if not len(start):
        empty = np.zeros(0, dtype=np.int64)
        return Intervals(empty, empty)
    order = np.argsort(start, kind="stable")
    start, reach = start[order], np.maximum.accumulate(end[order])
    first = np.concatenate(([True], start[1:] > reach[:-1]))
    last = np.concatenate((first[1:], [True]))
    return Intervals(start[first], reach[last])


def union_length(start: Ints, end: Ints) -> int:
    """Length of the union, ns."""
    return union(start, end).length
