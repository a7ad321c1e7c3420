"""What a step of a batch costs on this server: rows of comparable work, and the line through them.

``step time = a + b tokens + c requests + d context + e mixed + f pairs`` (method.md 2.2), all coefficients at least zero:
new tokens and decoding requests a step, resident KV tokens, the share of steps that hold prefill, and pairs of a prompt
token with the context before it. A page gives sums over an interval, so every term is a mean over the interval's steps.
"""

from __future__ import annotations

import msgspec
import numpy as np
from numpy.typing import NDArray

from whystall.model.engine_state import EngineState, HistogramDelta

from .histograms import quantile_of

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

TERMS = ("steps", "tokens", "requests", "context", "mixed", "pairs")
# Fewer steps than this and the steps that an interval cuts at its edges weigh too much (as in state/calibration.py).
_LEAST_STEPS = 20.0
_LEAST_GAPS = 30.0
# A gap is a pause and no step where a user feels it as a wait and it is several times the step of the longest prompt:
# prompts that came meanwhile share the step after it.
_PAUSE_S, _PAUSE_TIMES = 0.2, 3.0
_FEW_ROWS = 8
_HUBER = 1.5  # residuals over so many sigma count less and less
_LEAST_NOISE = 0.02  # the counters of one second are not sharper than that
# Steps with prefill and without have terms of their own, which one line mixes: up to a quarter of what lies beyond the
# work that was fitted (method.md section 4).
_BEYOND = 0.25
_NEAR_PREEMPTION = 2  # intervals: what a preempted request computes again is on no counter
_USUAL_BUDGET = 8192.0


class StepRows(msgspec.Struct, frozen=True):
    """Rows of at least twenty steps. ``first[i]:last[i]`` are the intervals of row ``i``.

    ``seconds`` of a step as decoding requests saw it; ``gaps[i, j]`` their gaps by bucket, whose lower and upper edges are
    ``edges[i, j]`` (the same in all rows); ``work[i, j]`` the row's mean of each of :data:`TERMS` a step.
    """

    first: Ints
    last: Ints
    seconds: Floats
    gaps: Floats
    edges: Floats
    work: Floats

    def __len__(self) -> int:
        return len(self.seconds)

    @classmethod
    def none(cls) -> StepRows:
        index, nothing = np.zeros(0, dtype=np.int64), np.zeros(0)
        return cls(index, index, nothing, np.zeros((0, 1)), np.zeros((0, 1, 2)), np.zeros((0, len(TERMS))))

    def some(self, at: NDArray[np.bool_] | slice) -> StepRows:
        return StepRows(*(getattr(self, name)[at] for name in self.__struct_fields__))


class StepCost(msgspec.Struct, frozen=True):
    """``coefficients`` by term with their ``covariance``; ``noise_ratio`` of a row, ``error_ratio`` the median error.

    ``rows`` it was fitted on, of which none had more work of a term than ``reach``; with no rows only data sheets and
    general knowledge stand behind it.
    """

    coefficients: Floats
    covariance: Floats
    reach: Floats
    noise_ratio: float
    error_ratio: float
    rows: int

    def seconds(self, work: Floats) -> Floats:
        """Seconds of a step with this work, by row."""
        return np.asarray(work @ self.coefficients)

    def doubt(self, work: Floats) -> Floats:
        """Relative standard error of :meth:`seconds`: large where the work is unlike what was fitted."""
        variance = np.maximum(np.einsum("ij,jk,ik->i", work, self.covariance, work), 0.0)
        beyond = _BEYOND * (np.maximum(work - self.reach, 0.0) @ self.coefficients)
        return np.asarray(np.sqrt(variance + beyond**2) / np.maximum(self.seconds(work), 1e-9))


def step_rows(state: EngineState) -> StepRows:
    """The usable intervals of an engine, those of few steps joined; none where the page counts no steps."""
    columns = _columns(state)
    usable = _usable(state) & np.isfinite(columns).all(axis=1)
    rows: list[StepRows] = []
    start = 0
    for i, good in enumerate(usable):
        if not good:
            start = i + 1
            continue
        total = columns[start : i + 1].sum(axis=0)
        if total[0] >= _LEAST_STEPS and total[1] >= _LEAST_GAPS:
            row = _row(state, start, i + 1, total)
            # A page may say of tokens that they took no time, or less.
            if np.isfinite(row.work).all() and 0 < float(row.seconds[0]) < np.inf:
                rows.append(row)
            start = i + 1
    if not rows:
        return StepRows.none()
    return StepRows(*(np.concatenate([getattr(r, name) for r in rows]) for name in StepRows.__struct_fields__))


def _columns(state: EngineState) -> Floats:
    """By interval: steps, gaps, computed and generated tokens, first tokens, tokens before a computed one, context."""
    pool = state.limit_value("num_gpu_blocks") * state.limit_value("block_size")
    usage = np.fmax(np.nan_to_num((state.kv_usage_start + state.kv_usage_end) / 2), 0.0)
    context = usage * (pool if np.isfinite(pool) else 0.0)
    computed = np.nan_to_num(state.computed_tokens)
    first = np.fmax(np.nan_to_num(state.first_tokens), 1.0)
    depth = np.fmax(np.nan_to_num(state.prompt_tokens) - computed, 0.0) / first + computed / first / 2
    steps = np.nan_to_num(state.steps)
    return np.column_stack(
        [
            steps,
            np.nan_to_num(state.itl.count),
            computed,
            state.generation_tokens,
            np.nan_to_num(state.first_tokens),
            computed * depth,
            steps * context,
        ]
    )


def _usable(state: EngineState) -> NDArray[np.bool_]:
    preempted = np.convolve(np.nan_to_num(state.preemptions) > 0, np.ones(2 * _NEAR_PREEMPTION + 1), mode="same") > 0
    idle = ~(np.nan_to_num(state.steps) > 0) | ~(np.nan_to_num(state.itl.count) > 0)
    return np.asarray(state.valid & ~idle & ~preempted[: len(state.dt)])


def _row(state: EngineState, first: int, last: int, total: Floats) -> StepRows:
    steps, _, computed, generated, prompts, pairs, context = total
    budget = state.limit_value("max_num_batched_tokens")
    chunks = max(prompts, computed / (budget if budget > 0 else _USUAL_BUDGET))
    # Prompts come at random, and those that come during one step share the next: so many steps hold prefill.
    mixed = 1.0 - np.exp(-chunks / steps)
    itl = state.itl
    seconds = float(np.nansum(itl.sum[first:last]) / np.nansum(itl.count[first:last]))
    work = [1.0, (computed + generated) / steps, generated / steps, context / steps, mixed, pairs / steps]
    return StepRows(
        np.array([first]),
        np.array([last]),
        np.array([seconds]),
        np.nansum(itl.counts[first:last], axis=0)[None, :],
        edges_of(itl)[None, :, :],
        np.array([work]),
    )


def edges_of(histogram: HistogramDelta) -> Floats:
    """Lower and upper edge of each bucket, ``[buckets, 2]``; the last one is taken to reach to twice its lower edge."""
    if not len(histogram.bounds):
        return np.array([[0.0, np.inf]])
    lower = np.concatenate(([0.0], histogram.bounds))
    return np.column_stack([lower, np.concatenate((histogram.bounds, [2 * histogram.bounds[-1]]))])


def pause_s(rows: StepRows, state: EngineState) -> float:
    """From where on a gap between tokens is a pause and no step: felt as a wait, and longer than the longest prompt's step.

    The step's cost is taken from rows without such gaps, where there are enough.
    """
    if not len(rows):
        return _PAUSE_S
    long = rows.edges[0][:, 0] >= _PAUSE_S
    free = ~((rows.gaps > 0) & long).any(axis=1)
    cost = fit_cost(rows.some(free) if free.sum() >= _FEW_ROWS else rows, state)
    budget = state.limit_value("max_num_batched_tokens")
    together = max(_longest_prompt(state), _fullest(rows), _most_a_step(state))
    tokens = min(together, budget if budget > 0 else _USUAL_BUDGET)
    work = np.median(rows.work, axis=0)
    work[[TERMS.index("tokens"), TERMS.index("mixed"), TERMS.index("pairs")]] = tokens, 1.0, tokens**2 / 2
    # Rows of short prompts tell little of long ones: then what is known of any server counts.
    usual = float(work @ _prior(state, float(np.quantile(rows.seconds, 0.1)))[0])
    return max(_PAUSE_S, _PAUSE_TIMES * max(float(cost.seconds(work[None, :])[0]), usual))


def _fullest(rows: StepRows) -> float:
    """Prompt tokens of a step with prefill, in the rows that have the most: those that queue share a step."""
    tokens, requests, mixed = (rows.work[:, TERMS.index(name)] for name in ("tokens", "requests", "mixed"))
    return float(((tokens - requests) / np.maximum(mixed, 0.01)).max())


def _most_a_step(state: EngineState) -> float:
    """Prompt tokens a step of the interval that has the most: of a crowd that came at once, a few steps hold all."""
    with np.errstate(invalid="ignore", divide="ignore"):
        each = np.where(state.steps >= 1, state.computed_tokens / state.steps, np.nan)
    return float(np.nanmax(each, initial=0.0)) if np.isfinite(each).any() else 0.0


def _longest_prompt(state: EngineState) -> float:
    """By the histogram, which fills when requests end, and by the tokens that were counted at their first one."""
    with np.errstate(invalid="ignore", divide="ignore"):
        counted = np.nan_to_num(state.computed_tokens / state.first_tokens, posinf=0.0)
    return max(quantile_of(state.prompt_length, 0.99)[2], float(np.quantile(counted, 0.99)) if len(counted) else 0.0)


def without_pauses(rows: StepRows, from_s: float) -> StepRows:
    """The rows with ``seconds`` of the gaps that are steps."""
    if not len(rows):
        return rows
    lower, upper = rows.edges[0].T
    pause = lower >= from_s
    whole = rows.seconds * rows.gaps.sum(axis=1)
    paused = (rows.gaps * pause * np.minimum(lower + upper, 1e9) / 2).sum(axis=1)
    left = np.where(pause, 0.0, rows.gaps)
    # The sum tells the mean of the rest, as far as the buckets allow: their middles are only about the pauses' lengths.
    rest = np.clip(whole - paused, (left * lower).sum(axis=1), (left * np.minimum(upper, 1e9)).sum(axis=1))
    some = (paused > 0) & (left.sum(axis=1) > 0)
    seconds = np.where(some, np.maximum(rest, 1e-6) / np.maximum(left.sum(axis=1), 1e-9), rows.seconds)
    return StepRows(rows.first, rows.last, seconds, rows.gaps, rows.edges, rows.work)


def without_prompts(work: Floats) -> Floats:
    """The same work without its prompts: a token for each decoding request."""
    alone = work.copy()
    alone[:, TERMS.index("tokens")] = work[:, TERMS.index("requests")]
    alone[:, [TERMS.index("mixed"), TERMS.index("pairs")]] = 0.0
    return alone


def fit_cost(rows: StepRows, state: EngineState, quick_s: float | None = None) -> StepCost:
    """The cost of a step from rows of healthy work: robust non-negative least squares of relative errors.

    What the rows do not tell stays at what is known of any server, with a wide error (:func:`_prior`).
    ``quick_s`` is the server's quickest step where the rows are few.
    """
    quick = quick_s or (float(np.quantile(rows.seconds, 0.1)) if len(rows) else 0.0)
    mean, spread = _prior(state, quick)
    scaled, noise, weights = rows.work / rows.seconds[:, None], 0.05, np.ones(len(rows))
    x = mean
    for _ in range(4):
        matrix = np.vstack([scaled * (weights / noise)[:, None], np.diag(1 / spread)])
        x = non_negative(matrix, np.concatenate([weights / noise, mean / spread]))
        off = np.abs(np.log(np.maximum(scaled @ x, 1e-9)))
        noise = max(1.4826 * float(np.median(off)), _LEAST_NOISE) if len(rows) else _LEAST_NOISE
        weights = np.sqrt(np.minimum(1.0, _HUBER * noise / np.maximum(off, 1e-12)))
    error = float(np.median(off)) if len(rows) else 0.5
    reach = rows.work.max(axis=0) if len(rows) else np.full(len(TERMS), np.inf)
    return StepCost(x, _inverse(matrix.T @ matrix), reach, noise, error, len(rows))


def _inverse(matrix: Floats) -> Floats:
    """The inverse; of what is singular in floating point (rows of absurd sizes) the pseudo-inverse."""
    try:
        return np.asarray(np.linalg.inv(matrix), dtype=np.float64)
    except np.linalg.LinAlgError:
        return np.asarray(np.linalg.pinv(matrix), dtype=np.float64)


def _prior(state: EngineState, quick_s: float) -> tuple[Floats, Floats]:
    """Mean and spread of each coefficient before any row was seen, in units of the quickest step.

    A step reads the weights once. At the ridge (300 tokens on most GPUs) computing takes as long as that; reading a KV
    token takes its share of bytes; launching prefill without a full graph takes some steps' time; attention of a prompt
    token over its context is a fortieth of a thousandth of its share of the weights.
    """
    configuration = state.configuration
    tokens = state.limit_value("num_gpu_blocks") * state.limit_value("block_size")
    pool = tokens if tokens > 0 else 100_000.0
    relative = (configuration.kv_cache_bytes or 0.0) / (configuration.weights_bytes or np.inf) or 1.0
    mean = np.array([0.8, 1 / 300, 1 / 1000, relative / pool, 1.0, 1 / 300 / 40_000])
    return mean * quick_s, mean * np.array([1.0, 1.5, 3.0, 1.5, 3.0, 3.0]) * quick_s


def non_negative(matrix: Floats, target: Floats) -> Floats:
    """``x >= 0`` that minimises ``|matrix x - target|``."""
    normal, right = matrix.T @ matrix, matrix.T @ target
    found = _exchanged(normal, right)
    return found if found is not None else _active_set(normal, right)


def _exchanged(normal: Floats, right: Floats) -> Floats | None:
    """All terms that are on the wrong side change it at once (block principal pivoting): two or three solutions do mostly.

    None where it does not settle, as it may, or where the terms in use are not told apart.
    """
    n = len(right)
    free = np.ones(n, dtype=bool)
    least = 1e-9 * max(abs(right).max(), 1e-300)
    for _ in range(n):
        x = np.zeros(n)
        at = np.flatnonzero(free)
        try:
            x[at] = np.linalg.solve(normal[at[:, None], at], right[at])
        except np.linalg.LinAlgError:
            return None
        wrong = np.where(free, x < 0, right - normal @ x > least)
        if not wrong.any():
            return x
        free ^= wrong
    return None


def _active_set(normal: Floats, right: Floats) -> Floats:
    """The same by the method of Lawson and Hanson, a term at a time: slower, and always there."""
    n = len(right)
    x, free = np.zeros(n), np.zeros(n, dtype=bool)
    for _ in range(3 * n):
        gradient = right - normal @ x
        if free.all() or gradient[~free].max() <= 1e-9 * max(abs(right).max(), 1e-300):
            break
        free[np.flatnonzero(~free)[np.argmax(gradient[~free])]] = True
        while True:
            trial = np.zeros(n)
            trial[free] = np.linalg.solve(normal[np.ix_(free, free)], right[free])
            low = free & (trial <= 0)
            if not low.any():
                break
            step = float((x[low] / (x[low] - trial[low] + 1e-300)).min())
            x = x + step * (trial - x)
            free &= x > 1e-300
            x[~free] = 0.0
        x = trial
    return x
