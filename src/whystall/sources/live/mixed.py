"""One address, several servers: a load balancer whose pages come from one and then from another.

Rates between such pages mean nothing, so they are refused. What tells several servers from one that restarts:

- ``process_start_time_seconds`` returns to a value that it had left. A restart never brings an old start back.
- Without it (several API processes leave it out): counters fall, and later rise again in one step by at least half of
  what they fell, to where they had been. After a restart they begin at 0 and come back at their own pace or not at all.
"""

from __future__ import annotations

from datetime import UTC, datetime

import msgspec
import numpy as np

from whystall.errors import MixedServers
from whystall.model.recording import Floats, SeriesTable

_LATEST_S = 253_402_300_799.0  # the end of year 9999: a page that is damaged may say anything
_START = "process_start_time_seconds"
_COUNTER_ENDS = ("_total", "_count", "_sum", "_bucket")
_OWN = ("process_", "python_")
_MIN_FALLEN = 3  # counters that fall together; one alone may be a gauge with a counter's name
_RETURNED = 0.5  # of what fell comes back in one step
_SHARE = 0.5  # of the fallen counters that come back
_CHUNK = 4096


class MixedPages(msgspec.Struct, frozen=True):
    """What was seen: ``servers`` at least, ``turns`` from one to another, and their start times where they tell."""

    servers: int
    turns: int
    starts: tuple[float, ...] = ()


def require_one_server(table: SeriesTable, target: str) -> None:
    """Raises :class:`MixedServers` where the table's pages came from several servers in turn."""
    mixed = find_mixed(table)
    if mixed is None:
        return
    starts = ", ".join(datetime.fromtimestamp(t, UTC).strftime("%F %T") for t in mixed.starts[:4])
    told = f"started {starts} UTC" if starts else "told by counters that go back and forth"
    raise MixedServers(
        f"{target} answers with the pages of at least {mixed.servers} servers in turn "
        f"({mixed.turns} turns in {len(table.times)} scrapes; {told}), probably a load balancer",
        "name the servers one by one: diagnose each server's own address instead of the balanced one",
    )


def find_mixed(table: SeriesTable) -> MixedPages | None:
    """Whether the pages came from several servers in turn; None for one server, restarted or not."""
    starts = _starts(table)
    return _by_start(starts) if len(starts) else _by_counters(_counters(table))


def _starts(table: SeriesTable) -> Floats:
    rows = [k for k, key in enumerate(table.keys) if key.name == _START and not key.labels]
    starts = table.values[rows[0]] if rows else np.zeros(0)
    return np.asarray(starts[(starts > 0) & (starts <= _LATEST_S)])  # not NaN, either


def _by_start(starts: Floats) -> MixedPages | None:
    runs = starts[np.flatnonzero(np.diff(starts, prepend=np.nan) != 0)]
    distinct = np.unique(runs)
    if len(runs) == len(distinct):
        return None  # each start was seen in one piece: restarts at most
    return MixedPages(len(distinct), len(runs) - 1, tuple(float(t) for t in distinct))


def _by_counters(values: Floats) -> MixedPages | None:
    if values.shape[1] < 3 or not len(values):
        return None
    steps = np.diff(values, axis=1)
    falls = np.flatnonzero(np.count_nonzero(steps < 0, axis=0) >= _MIN_FALLEN)
    if not len(falls):
        return None
    untils = [*falls[1:], steps.shape[1]]
    back = [at for at, until in zip(falls, untils, strict=True) if _comes_back(values, steps, int(at), int(until))]
    # Once may be a young server that restarts and gets its first request again; its counters then begin at 0.
    if len(back) > 1 or any(_lands_above_zero(values, steps, int(at)) for at in back):
        return MixedPages(2, 2 * len(back))
    return None


def _comes_back(values: Floats, steps: Floats, at: int, until: int) -> bool:
    """Whether what fell in step ``at`` rises in one later step, up to and with ``until``, to where it had been."""
    fallen = steps[:, at] < 0
    before = values[fallen, at][:, None]
    depth = -steps[fallen, at][:, None]
    rises = steps[fallen, at + 1 : until + 1]
    back = (rises >= _RETURNED * depth) & (values[fallen, at + 2 : until + 2] >= before)
    return bool(back.shape[1]) and bool(np.max(np.mean(back, axis=0)) >= _SHARE)


def _lands_above_zero(values: Floats, steps: Floats, at: int) -> bool:
    return bool(np.mean(values[steps[:, at] < 0, at + 1] > 0) > _SHARE)


def _counters(table: SeriesTable) -> Floats:
    """The counters that are on every page and fall at least once, (series, scrapes)."""
    rows = [k for k, key in enumerate(table.keys) if key.name.endswith(_COUNTER_ENDS) and not key.name.startswith(_OWN)]
    kept = [np.zeros((0, len(table.times)))]
    for start in range(0, len(rows), _CHUNK):  # bounds the memory of the differences
        values = table.values[rows[start : start + _CHUNK]]
        with np.errstate(invalid="ignore"):
            falls = np.any(np.diff(values, axis=1) < 0, axis=1)
        kept.append(values[falls & np.all(np.isfinite(values), axis=1)])
    return np.concatenate(kept)
