"""Since when steps take longer than their batch explains: the load-invariant residual of step time, and its change.

``r = log(step time / what a step of this batch took in the healthy part)`` (method.md 2.2). More requests, longer prompts
or a fuller cache leave it at zero; a slower GPU, link, rank or host does not.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
import numpy as np
from numpy.typing import NDArray

from whystall.model.diagnosis import Onset
from whystall.model.engine_state import EngineState
from whystall.state.step_cost import StepCost, StepRows, fit_cost, pause_s, step_rows, without_pauses, without_prompts

from .change import change_point
from .step_watch import prompts_part, residual_of, slower_from
from .thresholds import level

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

_LAST = 6  # rows whose median must exceed the least effect
_AROUND = 20  # rows on either side of the alarm among which the change is looked for
_PROMPTS = 0.5  # of a step's time, from where on it is prompts and not decoding
_SIGMAS = 2.0  # of the line's own doubt, for which a residual does not count


class Pace(msgspec.Struct, frozen=True):
    """``residual[i]`` is r of row ``i`` of ``rows`` against ``cost``, the line through the healthy rows before ``since``.

    ``slower`` and ``usual`` mark intervals: those of the slower part, and those before it (all where nothing changed).
    Gaps between tokens of ``pause_s`` and more are pauses, and no steps of these rows.
    """

    rows: StepRows
    cost: StepCost
    residual: Floats
    slower: Bools
    usual: Bools
    onset: Onset | None
    pause_s: float
    known_itl_s: float = float("nan")  # of a saved baseline

    @property
    def changed(self) -> bool:
        return bool(self.slower.any())


def pace(state: EngineState, known: StepRows | None = None, known_itl_s: float = float("nan")) -> Pace | None:
    """The residual through the window; ``known`` are rows of a saved healthy baseline, ``known_itl_s`` its usual ITL.

    None where too few rows are seen.
    """
    rows = step_rows(state)
    least = int(level("residual_rows"))
    known = known if known is not None and len(known) >= least else None
    if len(rows) < (2 * least if known is None else 1):
        return None
    from_s = pause_s(rows, state)
    rows = without_pauses(rows, from_s)
    found = slower_from(rows, state, known)
    cost = fit_cost(rows.some(slice(0, found.healthy)) if known is None else known, state)
    residual = residual_of(rows, cost)
    if found.since is None:
        return Pace(
            rows, cost, residual, np.zeros(len(state.dt), dtype=bool), state.valid.copy(), None, from_s, known_itl_s
        )
    at, onset = _change(rows, found.residual, state, found.since)
    slower = _slower(rows, residual, state, at)
    usual = state.valid & (state.t_end <= state.t_start[rows.first[at]] + 1e-9)
    return Pace(rows, cost, residual, slower, usual, onset, from_s, known_itl_s)


def surely(rows: StepRows, cost: StepCost) -> Floats:
    """The residual that is left when the line's own doubt is taken off."""
    return residual_of(rows, cost) - _SIGMAS * cost.doubt(rows.work)


def decode_s(found: Pace | None, where: Bools) -> float:
    """Seconds that steps of the batches in the intervals ``where`` take without their prompts, by the healthy line.

    What more requests and longer contexts cost is no fault of anybody's. The line's doubt is taken off; NaN where it is
    as good as a guess, or where no rows are.
    """
    split = _split(found, where)
    if split is None:
        return float("nan")
    alone, doubt, _ = split
    return float(np.median(alone * (1 - doubt)))


def prompts_share(found: Pace | None, where: Bools) -> float:
    """Share of the steps' time in the intervals ``where`` that their prompts take by the healthy line; NaN as above."""
    split = _split(found, where)
    if split is None:
        return float("nan")
    alone, _, rows = split
    assert found is not None
    return float(np.median((found.cost.seconds(rows.work) - alone) / rows.seconds))


def _split(found: Pace | None, where: Bools) -> tuple[Floats, Floats, StepRows] | None:
    """For the rows in ``where``: seconds without prompts and the doubt of that by row, and the rows."""
    if found is None:
        return None
    rows = found.rows.some(
        np.array([bool(where[a:b].all()) for a, b in zip(found.rows.first, found.rows.last, strict=True)], dtype=bool)
    )
    work = without_prompts(rows.work)
    doubt = found.cost.doubt(work)
    if not len(rows) or float(np.median(doubt)) > level("line_doubt"):
        return None
    return found.cost.seconds(work), doubt, rows


def _change(rows: StepRows, residual: Floats, state: EngineState, start: int) -> tuple[int, Onset | None]:
    """The row with which the slower part begins, by the two-segment likelihood, and when that was."""
    low, high = max(start - _AROUND, 0), min(start + _AROUND, len(rows))
    split = change_point(residual[low:high])
    if start == 0:
        return 0, None
    if split is None or abs(split[0] + low - start) > _LAST:
        split = (start - low, max(start - low - 1, 0), start - low)
    best, first, last = (low + place for place in split)
    edges, ends = state.t_start[rows.first], state.t_end[rows.last - 1]
    return best, Onset(float(edges[best]), float(edges[max(first - 1, 0)]), float(ends[min(last, len(rows) - 1)]))


def _slower(rows: StepRows, residual: Floats, state: EngineState, at: int) -> Bools:
    """Intervals from row ``at`` on, up to the last row around which steps are still slower by the least effect."""
    flags = np.zeros(len(state.dt), dtype=bool)
    still = [i for i in range(at, len(rows)) if np.median(residual[i : i + _LAST]) > level("residual_effect")]
    if still:
        flags[rows.first[at] : rows.last[min(still[-1] + _LAST - 1, len(rows) - 1)]] = True
    return flags & state.valid


def late_by_pace(state: EngineState, found: Pace | None, felt_s: float) -> Bools:
    """Intervals of the slower part that a user feels: late, and by more than the gain worth naming; or twice too late.

    Twice what their batch should take, or twice what they took before: slower steps hold each request for longer, and the
    batch that grows of it is their doing. Not so the prompts that come meanwhile.
    What came with a restart can be undone: there a loss need not be felt by itself, as long as tokens do not come at once.
    Medians over some rows: a single row is noise on a shared machine.
    """
    flags = np.zeros(len(state.dt), dtype=bool)
    if found is None or not found.changed:
        return flags
    sure, before_s, prompts = surely(found.rows, found.cost), _before_s(found), prompts_part(found.rows, found.cost)
    felt_s = min(felt_s, level("quick_itl")) if _with_a_restart(state, found) else felt_s
    for i in _inside(found):
        near = slice(max(i - _LAST // 2, 0), i + _LAST // 2)
        excess, seconds = float(np.median(sure[near])), float(np.median(found.rows.seconds[near]))
        twice = seconds > level("slow_factor") * before_s and float(np.median(prompts[near])) < _PROMPTS
        felt = (seconds > felt_s or twice) and excess > -np.log(1 - level("gain"))
        if felt or excess > np.log(level("slow_factor")):
            flags[found.rows.first[i] : found.rows.last[i]] = True
    return flags & state.valid


def _before_s(found: Pace) -> float:
    """Seconds of the usual step before the slower part; infinite where none was seen."""
    earlier = [bool(found.usual[a:b].all()) for a, b in zip(found.rows.first, found.rows.last, strict=True)]
    seconds = found.rows.seconds[np.array(earlier, dtype=bool)]
    return float(np.median(seconds)) if len(seconds) else float("inf")


def _with_a_restart(state: EngineState, found: Pace) -> bool:
    """Whether the server started anew between the last row before the change and the first after it."""
    at = int(np.argmax(found.slower))
    earlier = np.flatnonzero(found.usual)
    since = float(state.t_start[earlier[-1]]) if len(earlier) else 0.0
    return any(since <= t <= float(state.t_end[at]) for t in state.restarts)


def _inside(found: Pace) -> Iterator[int]:
    return (i for i in range(len(found.rows)) if found.slower[int(found.rows.first[i])])
