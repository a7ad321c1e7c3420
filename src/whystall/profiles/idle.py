"""Why a GPU had nothing to run: each gap between its work, put to one reason."""

from __future__ import annotations

import msgspec
import numpy as np
from numpy.typing import NDArray

from .intervals import union
from .linked import LinkedTrace
from .summary import Idle
from .trace import Ints

LAUNCH, BETWEEN_STEPS, DEVICE, UNLINKED = range(4)
_SHORT_NS, _LONG_NS = 10_000, 1_000_000


class Gaps(msgspec.Struct, frozen=True):
    """Gaps of all devices. ``copy`` is the part at which the host sat in a blocking copy, ``reason`` why the rest.

    ``before`` and ``after`` are the rows of work on both sides.
    """

    start: Ints
    end: Ints
    device: Ints
    before: NDArray[np.int64]
    after: NDArray[np.int64]
    copy: Ints
    reason: NDArray[np.int8]

    @property
    def length(self) -> Ints:
        return self.end - self.start


def find_gaps(linked: LinkedTrace) -> Gaps:
    """All gaps, device by device in order of time."""
    parts = [_of_device(linked, device) for device in linked.device_ids]
    joined = [np.concatenate(column) if parts else np.zeros(0, dtype=np.int64) for column in zip(*parts, strict=True)]
    start, end, device, before, after = joined or [np.zeros(0, dtype=np.int64)] * 5
    copies = linked.blocking_copies()
    calls = linked.trace.calls
    waiting = union(calls.start[copies], calls.end[copies]).within(start, end)
    return Gaps(start, end, device, before, after, waiting, _reasons(linked, start, before, after))


def _of_device(linked: LinkedTrace, device: int) -> tuple[Ints, Ints, Ints, Ints, Ints]:
    work = linked.trace.work
    rows = np.flatnonzero(work.device == device)
    rows = rows[np.argsort(work.start[rows], kind="stable")]
    start, end = work.start[rows], work.end[rows]
    reach = np.maximum.accumulate(end)
    opens = np.flatnonzero(start[1:] > reach[:-1]) + 1
    longest = np.concatenate(([True], end[1:] > reach[:-1]))  # the first row to reach that far
    reached_by = np.maximum.accumulate(np.where(longest, np.arange(len(rows)), 0))
    before, after = rows[reached_by[opens - 1]], rows[opens]
    return reach[opens - 1], start[opens], np.full(len(opens), device, dtype=np.int64), before, after


def _reasons(linked: LinkedTrace, start: Ints, before: Ints, after: Ints) -> NDArray[np.int8]:
    calls, call = linked.trace.calls, linked.call[after]
    reason = np.full(len(start), UNLINKED, dtype=np.int8)
    known = call >= 0
    late = np.zeros(len(start), dtype=bool)
    late[known] = calls.end[call[known]] > start[known]
    reason[known & ~late] = DEVICE
    reason[known & late] = LAUNCH
    if len(linked.steps):
        reason[known & late & (linked.step[before] != linked.step[after])] = BETWEEN_STEPS
    return reason


def idle_time(gaps: Gaps) -> Idle:
    """The gaps summed by reason."""
    length, rest = gaps.length, gaps.length - gaps.copy
    by_reason = [int(rest[gaps.reason == reason].sum()) for reason in (LAUNCH, BETWEEN_STEPS, DEVICE, UNLINKED)]
    return Idle(
        idle_ns=int(length.sum()),
        launch_ns=by_reason[0],
        between_steps_ns=by_reason[1],
        copy_ns=int(gaps.copy.sum()),
        device_ns=by_reason[2],
        unlinked_ns=by_reason[3],
        gaps_under_10us=int((length < _SHORT_NS).sum()),
        gaps_under_1ms=int(((length >= _SHORT_NS) & (length <= _LONG_NS)).sum()),
        gaps_over_1ms=int((length > _LONG_NS).sum()),
        longest_ns=int(length.max(initial=0)),
    )
