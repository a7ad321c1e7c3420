"""From which row of steps on they take longer than their batch explains: a sequential test of one window.

A likelihood-ratio CUSUM (method.md 2.2) of ``r = log(step time / what a step of this batch took before)``: a tenth's half
more against nothing, ``S <- max(0, S + k (r / s - k / 2))`` with ``k = effect / s``. Each row has the noise ``s`` of its own
kind, so that a hundred rough rows tell as much as a few sharp ones.
"""

from __future__ import annotations

import math

import msgspec
import numpy as np
from numpy.typing import NDArray

from whystall.model.engine_state import EngineState
from whystall.state.step_cost import StepCost, StepRows, fit_cost, without_prompts

from .thresholds import level

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

# Twice the least effect: steps slower by just that leave the score where it is.
_EFFECT = 2.0
# A row says no more than this many nats, whatever its noise: one outlier fires nothing. Noise below _EFFECT / _STEEPEST
# sharpens nothing any more: a line is never that right.
_CLIP, _STEEPEST = 3.0, 2.0
# Chance comes to it once in some hours of rows of a second each, of engines that take what the test takes for granted.
_ALARM = 10.0
_FEWEST = 3  # rows that must be slower by the least effect
_LEAST_NOISE = 0.02  # the counters of one second are not sharper than that
_PROMPTS = 0.1  # share of a step's time from which on its prompts make the noise
_OF_PROMPTS = 0.1  # noise of prompts before enough of them were seen
_FEW = 6.0  # noise that few rows tell may be larger: by half for twelve rows, by a twentieth for 120
_REFIT = 1.15  # the line is fitted again when that many times as many healthy rows are there
_SIGMAS = 2.0  # of the line's own doubt, for which a residual does not count
_LONGER = 0.1  # log by which the clock may tell a longer step than the gaps do: beyond it the engine paused meanwhile


class Slower(msgspec.Struct, frozen=True):
    """``healthy`` rows the last line was fitted to; from row ``since`` on steps are slower (None: never).

    ``residual`` is r by row against that line, of seconds as :func:`by_gaps_and_clock` has them.
    """

    healthy: int
    since: int | None
    residual: Floats


def slower_from(rows: StepRows, state: EngineState, known: StepRows | None) -> Slower:
    """Go through the rows once; ``known`` are those of a saved healthy baseline, else the first ones are healthy.

    Rows join the healthy ones while nothing is suspected, so that a new kind of load is learned before it is judged.
    """
    if known is None:
        rows = by_gaps_and_clock(rows, state)
    return _Watch(rows, state, known).go()


class _Watch:
    def __init__(self, rows: StepRows, state: EngineState, known: StepRows | None) -> None:
        self.rows, self.state, self.known = rows, state, known
        self.alarm = _ALARM - math.log(max(float(np.median(_seconds(rows, state))), 1.0))
        self.healthy = 0
        self._learn(int(level("residual_rows")) if known is None else 0)

    def _learn(self, healthy: int) -> None:
        self.healthy = healthy
        past = self.known if self.known is not None else self.rows.some(slice(0, healthy))
        cost = fit_cost(past, self.state)
        self.residual = residual_of(self.rows, cost)
        self.noise = StepNoise.of(past, cost).of_rows(self.rows, cost)
        steep = np.minimum(_EFFECT * level("residual_effect") / self.noise, _STEEPEST)
        sure = self.residual - _SIGMAS * cost.doubt(self.rows.work)
        self.nats = np.clip(steep * (sure / self.noise - steep / 2), -_CLIP, _CLIP)

    def go(self) -> Slower:
        score, since = 0.0, self.healthy
        for i in range(self.healthy, len(self.rows)):
            score = max(0.0, score + float(self.nats[i]))
            if score == 0.0:
                since = i + 1
                if self.known is None and since >= _REFIT * self.healthy:
                    self._learn(since)
            elif score > self.alarm and self._moved(slice(since, i + 1)):
                if self.known is None:
                    self._learn(since)
                return Slower(self.healthy, since, self.residual)
        return Slower(self.healthy, None, self.residual)

    def _moved(self, at: slice) -> bool:
        """Whether the rows are slower by the least effect, those of little noise and most of them."""
        residual, least = self.residual[at], level("residual_effect")
        sharp = float(np.average(residual, weights=1 / self.noise[at] ** 2))
        return len(residual) >= _FEWEST and sharp > least and float(np.median(residual)) > least


class StepNoise(msgspec.Struct, frozen=True):
    """Standard deviation of r: ``decoding`` of steps without prompts, ``prompts`` of a step that is nothing but prompts.

    When in an interval a prompt came, and how many decoded meanwhile, is on no page: its share of the time is rough, and
    the variance grows with that share. ``rows`` it was taken from.
    """

    decoding: float
    prompts: float
    rows: int

    @classmethod
    def of(cls, rows: StepRows, cost: StepCost) -> StepNoise:
        off, share = np.abs(residual_of(rows, cost)), prompts_part(rows, cost)
        mixed, least = share > _PROMPTS, int(level("residual_rows"))
        alone, together = off[~mixed], off[mixed] / np.sqrt(share[mixed])
        prompts = _deviation(together) if len(together) >= least else None
        # Where there is always a prompt, what is left without one is not known to be rough.
        plain = _deviation(alone) if len(alone) >= least else _deviation(off) if prompts is None else 0.0
        plain = max(plain, _LEAST_NOISE)
        return cls(plain, prompts if prompts is not None else max(_OF_PROMPTS, plain), len(rows))

    def of_rows(self, rows: StepRows, cost: StepCost) -> Floats:
        """The deviation by row."""
        variance = self.decoding**2 + self.prompts**2 * prompts_part(rows, cost)
        return np.asarray(np.sqrt(variance) * (1 + _FEW / max(self.rows, 1)))


def _deviation(off: Floats) -> float:
    return 1.4826 * float(np.median(off)) if len(off) else 0.0


def prompts_part(rows: StepRows, cost: StepCost) -> Floats:
    """Share of each row's predicted time that its prompts take."""
    alone = cost.seconds(without_prompts(rows.work)) / np.maximum(cost.seconds(rows.work), 1e-9)
    return np.asarray(np.clip(1 - alone, 0.0, 1.0))


def residual_of(rows: StepRows, cost: StepCost) -> Floats:
    """log(seconds / predicted) by row."""
    return np.asarray(np.log(rows.seconds / np.maximum(cost.seconds(rows.work), 1e-9)))


def by_gaps_and_clock(rows: StepRows, state: EngineState) -> StepRows:
    """The rows with ``seconds`` between what the gaps tell of a step and what the clock does, where the engine never ran dry.

    The gaps' mean weighs a step by how many decode in it, the clock's (time / steps) weighs all alike, as the work does,
    and counts what lies between steps too. Where load wanders inside a row their errors go apart: the middle is nearer.
    """
    if not len(rows):
        return rows
    steps = _over(rows, np.nan_to_num(state.steps))
    dry = ~(np.fmin(state.running_start, state.running_end) > 0)
    busy = _over(rows, dry.astype(float)) == 0
    longer = np.log(_seconds(rows, state) / steps / rows.seconds)
    middle = np.where(busy, np.minimum(longer, _LONGER) / 2, 0.0)
    return msgspec.structs.replace(rows, seconds=rows.seconds * np.exp(middle))


def _seconds(rows: StepRows, state: EngineState) -> Floats:
    """How long each row is."""
    return _over(rows, state.dt)


def _over(rows: StepRows, values: Floats) -> Floats:
    """Sum over the intervals of each row."""
    total = np.concatenate(([0.0], np.cumsum(values)))
    return np.asarray(total[rows.last] - total[rows.first])
