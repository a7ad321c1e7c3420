"""Collectives across ranks: what was transfer, what was waiting, and for whom.

A collective ends at about the same moment on every rank of its group, so the rank that arrives last has the shortest
one: the shortest duration over ranks is the wire time, the rest of each rank's is waiting (skew). The straggler is the
rank with the *least* collective time. Clocks of different hosts are aligned by the ends of the collectives.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

from whystall.model.text import Text

from .kernels import base_name
from .linked import LinkedTrace
from .trace import Ints

_KIND = re.compile(
    r"all_?reduce|all_?gather|reduce_?scatter|all_?to_?all|send_?recv|broadcast|reduce|dispatch|combine", re.IGNORECASE
)
_STRAGGLER_RATIO = 0.8  # of the other ranks' median collective time; and it must be the latest on average
_SKEW_RATIO = 0.1  # skew under this share of collective time is no finding
_FELT_RATIO = 0.05  # nor is waiting that the others have under this share of the time looked at


class CollectiveRow(msgspec.Struct, frozen=True):
    """Collectives of one rank in the order of their start, by a key that is the same on every rank."""

    key: str
    start_ns: list[int]
    duration_ns: list[int]


class RankCollectives(msgspec.Struct, frozen=True):
    """What a file tells of its rank, to be compared with the others'. Starts are on the file's clock plus its base."""

    file: str
    rank: int | None
    has_base: bool
    rows: tuple[CollectiveRow, ...]


class RankTime(msgspec.Struct, frozen=True):
    """One rank. ``late_ns`` is its mean arrival after the first rank, ``last`` in how many collectives it came last."""

    rank: int
    file: str
    collective_ns: int
    skew_ns: int
    late_ns: float
    last: int
    clock_offset_ns: int


class RankComparison(msgspec.Struct, frozen=True):
    """Matched collectives of all ranks. ``collective_ns`` sums over ranks and is wire plus skew."""

    ranks: tuple[RankTime, ...]
    matched: int
    unmatched: int
    collective_ns: int
    wire_ns: int
    skew_ns: int
    straggler: int | None
    clock: str  # base: by the files' own base time; ends: aligned by the ends of collectives
    text: Text


def rank_collectives(linked: LinkedTrace) -> RankCollectives:
    """The collectives of one file, by group and kind."""
    work, trace = linked.trace.work, linked.trace
    rows = np.flatnonzero(linked.collective)
    rows = rows[np.argsort(work.start[rows], kind="stable")]
    told = {entry.row: entry for entry in trace.collectives}
    groups: dict[str, list[int]] = {}
    for row in rows.tolist():
        entry = told.get(row)
        name = f"{entry.group}/{entry.name}" if entry else "/" + _kind(trace.names[int(work.name[row])])
        groups.setdefault(name, []).append(row)
    base = trace.base_ns or 0
    found = tuple(
        CollectiveRow(key, (work.start[index] + base).tolist(), work.duration[index].tolist())
        for key, index in groups.items()
    )
    return RankCollectives(trace.file, trace.rank, trace.base_ns is not None, found)


def _kind(name: str) -> str:
    base = base_name(name)
    match = _KIND.search(base)
    return match.group().lower().replace("_", "") if match else base


def compare_ranks(files: Sequence[RankCollectives]) -> RankComparison | None:
    """Match the collectives of several ranks; None with fewer than two ranks or nothing in common."""
    ranks = _by_rank(files)
    if len(ranks) < 2:
        return None
    start, duration, unmatched = _matched(ranks)
    if not start.shape[1]:
        return None
    offsets = _clock_offsets(start + duration)
    arrival = start - offsets[:, None]
    late = arrival - arrival.min(axis=0)
    last = np.bincount(late.argmax(axis=0), minlength=len(ranks))
    wire = duration.min(axis=0)
    total = duration.sum(axis=1)
    table = tuple(
        RankTime(
            rank=number,
            file=entry.file,
            collective_ns=int(total[index]),
            skew_ns=int(total[index] - wire.sum()),
            late_ns=float(late[index].mean()),
            last=int(last[index]),
            clock_offset_ns=int(offsets[index]),
        )
        for index, (number, entry) in enumerate(ranks)
    )
    span = int((start + duration - start.min(axis=1, keepdims=True)).max())
    based = all(entry.has_base for _, entry in ranks)
    return _comparison(table, start.shape[1], unmatched, int(wire.sum()), based, span)


def _by_rank(files: Sequence[RankCollectives]) -> list[tuple[int, RankCollectives]]:
    """Files by rank; where ranks are missing or given twice, the files' order counts."""
    known = [entry.rank for entry in files]
    if None in known or len(set(known)) < len(known):
        return list(enumerate(files))
    return sorted(((entry.rank or 0, entry) for entry in files), key=lambda pair: pair[0])


def _matched(ranks: list[tuple[int, RankCollectives]]) -> tuple[Ints, Ints, int]:
    """Starts and durations, a row per rank and a column per collective that every rank has; how many found no match."""
    tables = [{row.key: row for row in entry.rows} for _, entry in ranks]
    shared = [key for key in tables[0] if all(key in table for table in tables)]
    starts, durations = [], []
    for key in shared:
        count = min(len(table[key].start_ns) for table in tables)
        starts.append(np.array([table[key].start_ns[:count] for table in tables], dtype=np.int64))
        durations.append(np.array([table[key].duration_ns[:count] for table in tables], dtype=np.int64))
    empty = np.zeros((len(ranks), 0), dtype=np.int64)
    start = np.concatenate(starts, axis=1) if starts else empty
    duration = np.concatenate(durations, axis=1) if durations else empty
    everything = sum(len(row.start_ns) for table in tables for row in table.values())
    return start, duration, everything - start.size


def _clock_offsets(end: Ints) -> NDArray[np.int64]:
    """How far each rank's clock is ahead: the median of its ends against the median rank's."""
    end = end - end.min()  # epoch nanoseconds would lose their last digits in the medians' float64
    middle = np.median(end, axis=0)
    offsets: NDArray[np.int64] = np.rint(np.median(end - middle, axis=1)).astype(np.int64)
    return offsets


def _comparison(
    table: tuple[RankTime, ...], matched: int, unmatched: int, wire: int, based: bool, span: int
) -> RankComparison:
    total = sum(row.collective_ns for row in table)
    skew = total - wire * len(table)
    straggler = _straggler(table, skew, total, span)
    aligned = max(abs(row.clock_offset_ns) for row in table) > 1000
    return RankComparison(
        ranks=table,
        matched=matched,
        unmatched=unmatched,
        collective_ns=total,
        wire_ns=wire * len(table),
        skew_ns=skew,
        straggler=straggler.rank if straggler else None,
        clock="ends" if aligned or not based else "base",
        text=_text(table, straggler, skew / total if total else 0.0, matched),
    )


def _straggler(table: tuple[RankTime, ...], skew: int, total: int, span: int) -> RankTime | None:
    least = min(table, key=lambda row: row.collective_ns)
    others = float(np.median([row.collective_ns for row in table if row is not least]))
    latest = max(row.late_ns for row in table)
    clear = least.collective_ns < _STRAGGLER_RATIO * others and least.late_ns == latest
    felt = others - least.collective_ns >= _FELT_RATIO * span
    return least if clear and felt and total and skew / total >= _SKEW_RATIO else None


def _text(table: tuple[RankTime, ...], straggler: RankTime | None, share: float, matched: int) -> Text:
    if straggler is None:
        return Text(
            "{share:.0%} of collective time is waiting for other ranks; no single rank is behind the others "
            "({matched} collectives compared).",
            "集合通信时间的 {share:.0%} 是等待其他 rank；没有哪个 rank 明显落后（比较了 {matched} 次集合通信）。",
        ).format(share=share, matched=matched)
    most = max(row.collective_ns for row in table)
    return Text(
        "Rank {rank} is the straggler: {least:.1f} ms in collectives against {most:.1f} ms, and {late:span} late on "
        "average; {share:.0%} of all ranks' collective time is waiting.",
        "Rank {rank} 落后：它在集合通信中只用 {least:.1f} 毫秒（最多的为 {most:.1f} 毫秒），平均晚到 {late:span}；"
        "所有 rank 的集合通信时间中有 {share:.0%} 是等待。",
    ).format(
        rank=straggler.rank,
        least=straggler.collective_ns / 1e6,
        most=most / 1e6,
        late=straggler.late_ns / 1e9,
        share=share,
    )
