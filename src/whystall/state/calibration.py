"""Fits an engine's step time to what its counters say: intervals in, coefficients out.

Per interval the page gives steps, tokens and time but not which step did what. Steps that complete a prefill stand out
in ``iteration_tokens_total``'s buckets (they count the whole prompt), so an interval's time is
``(steps - mixed) * decode + mixed * prefill step``, with the step time of
:class:`~whystall.emulator.engine.profile.StepProfile` for both; method.md section 2.2 and 4.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from whystall.emulator.engine.profile import StepProfile
from whystall.errors import TooLittleData
from whystall.model.recording import SeriesTable

from .counters import increases
from .series import EngineSeries, split_engines

Floats = NDArray[np.float64]
_MIN_SAMPLES = 8
_ROUNDS = 60
_PULL = 0.02
_KNOWN_PULL = 0.1  # towards a profile of the same kind of machine: a factor of 1.2 is as much as 2% in every step
_TIE = 0.03
_LEAST_NOISE = 0.01  # a fit through few intervals leaves less than any clock
_WORSE = 1.5  # a draw may fit so many times as badly as the fit
_STALL = 0.5  # a residual of more is a stall, in every draw alike
_UNTOLD = 0.7  # log; a coefficient of which the samples tell nothing
_HUBER = 0.04  # residuals over 4% count less and less: a stall or a hidden recompute is no property of the step
_COARSE_STEPS = 20  # intervals with fewer steps are joined, for their edges weigh too much,
_COARSE_SHARE = 200  # and so are those shorter than this many quick steps,
_HALVED = 3  # or an eighth of them where the window is short: a step of either edge in 25 is 4%


class StepSamples(msgspec.Struct, frozen=True):
    """Intervals in which the engine never idled; all columns have the same length.

    ``seconds`` of ``steps`` steps, with on average ``requests`` decoding on ``context`` tokens; ``depth`` tokens lie
    before a computed prompt token on average. ``mixed[i, g]`` steps with prefill of about ``tokens[i, g]`` tokens each.
    """

    seconds: Floats
    steps: Floats
    requests: Floats
    context: Floats
    depth: Floats
    graphs: Floats  # the largest batch that has a CUDA graph, 0 where there are none
    mixed: Floats
    tokens: Floats

    def __len__(self) -> int:
        return len(self.seconds)


def step_samples(table: SeriesTable, *, cache_tokens: float, token_budget: int, graph_tokens: int = 512) -> StepSamples:
    """The usable intervals of the first engine of ``table``.

    ``cache_tokens``: tokens that the KV pool holds; ``token_budget``: the most that a step schedules;
    ``graph_tokens``: the largest captured batch.
    Intervals around preemptions are left out: what they recompute is on no counter.
    """
    engines = split_engines(table)
    if not engines or len(table.times) < 3:
        raise TooLittleData("the recording has too few scrapes for a fit", "record a minute under load")
    series = engines[0]

    def delta(name: str, part: str = "value", **labels: str) -> Floats:
        return increases(series.total(name, part, **labels))

    steps = delta("iteration_tokens_total", "count")
    generated = delta("generation_tokens")
    prompts, first = delta("prompt_tokens"), delta("time_to_first_token_seconds", "count")
    computed = delta("prompt_tokens_by_source", source="local_compute")
    computed = np.where(np.isnan(computed), prompts, computed)
    running, kv = series.total("num_requests_running"), series.total("kv_cache_usage_perc")
    with np.errstate(invalid="ignore", divide="ignore"):
        requests = np.nan_to_num(generated / steps)
        mean_computed = np.where(first > 0, computed / first, 0.0)
        mean_cached = np.where(first > 0, (prompts - computed) / first, 0.0)
    mixed, tokens = _prefill_steps(series, requests, computed, token_budget)
    columns = np.column_stack(
        [
            np.diff(table.times),
            np.maximum(steps, mixed.sum(axis=1)),
            requests,
            (kv[:-1] + kv[1:]) / 2 * cache_tokens,
            mean_cached + mean_computed / 2,
            mixed,
            tokens,
        ]
    )
    busy = (np.minimum(running[:-1], running[1:]) >= 2) & (steps >= 1) & np.isfinite(columns).all(axis=1)
    busy &= ~_near(np.nan_to_num(delta("num_preemptions")) > 0, 2)
    return _samples(_rows(columns, busy, mixed.shape[1]), mixed.shape[1], graph_tokens)


def _samples(rows: Floats, groups: int, graph_tokens: int) -> StepSamples:
    """The columns of ``step_samples`` by name: five single ones, then the groups' steps, then their tokens."""
    seconds, steps, requests, context, depth = rows[:, :5].T
    return StepSamples(
        seconds=seconds,
        steps=steps,
        requests=requests,
        context=context,
        depth=depth,
        graphs=np.full(len(rows), float(graph_tokens)),
        mixed=rows[:, 5 : 5 + groups],
        tokens=rows[:, 5 + groups :],
    )


def _prefill_steps(
    series: EngineSeries, requests: Floats, computed: Floats, token_budget: int
) -> tuple[Floats, Floats]:
    """Steps with prefill by interval and group, and the tokens of each: two arrays ``[intervals, groups]``.

    A group is a bucket of ``iteration_tokens_total`` above what decoding alone can reach; the buckets' middles are
    scaled so that they add up to what was computed. The last group are chunks whose prompts were not done yet.
    """
    bounds, cumulative = series.buckets("iteration_tokens_total")
    place = int(np.searchsorted(bounds, float(np.max(requests, initial=1.0))))
    edges = np.concatenate([bounds, [2 * bounds[-1]]])
    within = np.diff(cumulative[place:], axis=0)
    counts = np.stack([np.nan_to_num(increases(row)) for row in within], axis=1)
    middles = (edges[place:-1] + edges[place + 1 :])[None, : counts.shape[1]] / 2 - requests[:, None]
    total = (counts * middles).sum(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        scale = np.where(total > 0, computed / total, 1.0)
    room = np.maximum(token_budget - requests, 1.0)
    whole = np.minimum(middles * scale[:, None], room[:, None])
    rest = np.maximum(computed - (counts * whole).sum(axis=1), 0.0) / room
    mixed = np.column_stack([counts, rest])
    return mixed, np.column_stack([whole, room]) + requests[:, None]


_LEAST_FRONT = 3  # intervals: the first that shows nobody waiting may be a queue that is about to show


def fit_front(tables: Sequence[SeriesTable]) -> float:
    """Seconds that a request spends before and after the engine: TTFT - queue - prefill where the engine is nearly idle.

    What remains of that difference under load is the wait for the step under way, which the engine's model has itself.
    """
    rest: list[float] = []
    for table in tables:
        for series in split_engines(table)[:1]:
            rest += _front(series)
    return max(float(np.quantile(rest, 0.1)), 0.0) if len(rest) >= _LEAST_FRONT else 0.0


def _front(series: EngineSeries) -> list[float]:
    def mean(name: str) -> Floats:
        with np.errstate(invalid="ignore", divide="ignore"):
            return increases(series.total(name, "sum")) / increases(series.total(name, "count"))

    first = increases(series.total("time_to_first_token_seconds", "count"))
    ended = increases(series.total("request_queue_time_seconds", "count"))
    rest = mean("time_to_first_token_seconds") - mean("request_queue_time_seconds")
    rest -= mean("request_prefill_time_seconds")
    queue = mean("request_queue_time_seconds")
    # TTFT is of who came just now, the others of who has just ended: the same only while nobody waits.
    waiting = np.nan_to_num(series.total("num_requests_waiting"))
    calm = (waiting[:-1] == 0) & (waiting[1:] == 0)
    steady = np.isfinite(rest) & (np.abs(first - ended) <= 1) & (queue < 1e-3) & (rest > 0) & calm
    return [float(value) for value in rest[steady]]


def _near(flags: NDArray[np.bool_], reach: int) -> NDArray[np.bool_]:
    kernel = np.ones(2 * reach + 1)
    return np.convolve(flags, kernel)[reach : reach + len(flags)] > 0  # also where there are fewer than the kernel has


def _rows(columns: Floats, busy: NDArray[np.bool_], groups: int) -> Floats:
    """As long rows as leave enough of them: slow steps have few rows in a window, and edges that weigh more are better
    than no fit."""
    shares = [_COARSE_SHARE >> halved for halved in range(_HALVED + 1)]
    found = (_joined(columns, busy, groups, share) for share in shares)
    return next((rows for rows in found if len(rows) >= _MIN_SAMPLES), _joined(columns, busy, groups, _COARSE_SHARE))


def _joined(columns: Floats, busy: NDArray[np.bool_], groups: int, share: int) -> Floats:
    """Rows of the busy intervals; those of few steps are joined until there are enough."""
    rows: list[Floats] = []
    waiting: list[Floats] = []
    quick = float(np.quantile(columns[busy, 0] / columns[busy, 1], 0.1)) if busy.any() else 0.0
    for column, usable in zip(columns, busy, strict=True):
        if not usable:
            waiting = []
            continue
        waiting.append(column)
        table = np.stack(waiting)
        total = table.sum(axis=0)
        if total[1] >= _COARSE_STEPS and total[0] >= 0.9 * share * quick:
            total[2:5] = table[:, 2:5].mean(axis=0)
            counts, tokens = table[:, 5 : 5 + groups], table[:, 5 + groups :]
            weights = np.maximum(counts, 1e-9)
            total[5 + groups :] = (weights * tokens).sum(axis=0) / weights.sum(axis=0)
            rows.append(total)
            waiting = []
    return np.stack(rows) if rows else np.zeros((0, columns.shape[1]))


# The coefficients that are fitted, with where the search starts: a step of 5 ms; scaled to the steps that are seen.
_START = {
    "floor_s": 5e-3,
    "decode_request_s": 1e-5,
    "decode_context_s": 3e-8,
    "host_mixed_s": 1e-2,
    "host_eager_s": 2e-2,
    "token_s": 3e-5,
    "mixed_context_s": 3e-8,
    "pair_s": 1e-9,
}
_LAUNCHES = ("host_mixed_s", "host_eager_s")
_NOTHING = 1e-12


def fit_profile(samples: Sequence[StepSamples], name: str, known: StepProfile | None = None) -> StepProfile:
    """Coefficients that make the samples' seconds most likely, robustly (Huber) and in proportion (log).

    ``known`` is a profile of such a machine: what the samples do not tell stays near it.
    ``error_ratio`` of the result is the median absolute relative residual. Raises TooLittleData.
    """
    joined = _together(samples)
    if len(joined) < _MIN_SAMPLES:
        raise TooLittleData(
            f"{len(joined)} intervals of steady work are too few for a fit",
            "record a minute or more with at least two requests running all the time",
        )
    first = _known_start(known) if known else _scaled_start(joined)
    max_graph_tokens = int(joined.graphs.max())
    if not max_graph_tokens:  # no CUDA graphs: the launches are part of every step
        first |= dict.fromkeys(_LAUNCHES, _NOTHING)

    def residuals(logs: Floats) -> Floats:
        return _residuals(logs, joined)

    penalty = _penalty(list(first), len(joined), _KNOWN_PULL if known else _PULL)
    fitted = _levenberg(np.log(np.asarray(list(first.values()))), residuals, penalty)
    values: dict[str, Any] = dict(
        zip(first, [float(v) if v > 2 * _NOTHING else 0.0 for v in np.exp(fitted)], strict=True)
    )
    error = float(np.median(np.abs(residuals(fitted))))
    profile = StepProfile(name=name, floor_s=0.0, token_s=0.0, error_ratio=error, max_graph_tokens=max_graph_tokens)
    return msgspec.structs.replace(profile, mixed_request_s=values["decode_request_s"], **values)


def _scaled_start(samples: StepSamples) -> dict[str, float]:
    scale = float(np.quantile(samples.seconds / samples.steps, 0.1)) / _START["floor_s"]
    return {name: value * scale for name, value in _START.items()}


def _known_start(known: StepProfile) -> dict[str, float]:
    # The fit has no host of its own for steps that only decode: the longer of both is the floor that shows.
    start = {name: max(getattr(known, name), _NOTHING) for name in _START}
    return start | {"floor_s": max(known.floor_s, known.host_s)}


def coefficient_draws(samples: StepSamples, profile: StepProfile, count: int, seed: int) -> list[StepProfile]:
    """``count`` profiles that fit ``samples`` about as well as ``profile``, the fitted one, does (Laplace's approximation).

    What the samples do not tell varies by a factor of two either way. Residuals of neighbouring intervals go together,
    so the samples weigh less than their number.
    """
    names = [name for name in _START if getattr(profile, name) > 2 * _NOTHING]
    where = [list(_START).index(name) for name in names]
    full = np.log([max(getattr(profile, name), _NOTHING) for name in _START])
    x = full[where]

    def residuals(part: Floats) -> Floats:
        moved = full.copy()
        moved[where] = part
        return _residuals(moved, samples)

    r = residuals(x)
    jacobian = np.stack([(residuals(x + step) - r) / 1e-4 for step in np.eye(len(x)) * 1e-4], axis=1)
    variance = max(float(np.median(np.abs(r))) * 1.48, _LEAST_NOISE) ** 2 * _correlation(r)
    information = jacobian.T @ jacobian / variance + np.eye(len(x)) / _UNTOLD**2
    moves = np.random.default_rng(seed).multivariate_normal(np.zeros(len(x)), np.linalg.inv(information), count)
    drawn = []
    worst = _WORSE * max(_typical(r), _LEAST_NOISE)
    for move in moves:
        # A part that hides behind a longer one tells nothing until it is the longer one: such a draw goes back.
        while _typical(residuals(x + move)) > worst:
            move = move / 2
        values = {name: getattr(profile, name) * float(np.exp(m)) for name, m in zip(names, move, strict=True)}
        request = values.get("decode_request_s", profile.mixed_request_s)
        drawn.append(msgspec.structs.replace(profile, **{**values, "mixed_request_s": request}))
    return drawn


def _typical(residuals: Floats) -> float:
    return float(np.sqrt(np.mean(np.minimum(np.abs(residuals), _STALL) ** 2)))


def _correlation(residuals: Floats) -> float:
    """By how much fewer independent residuals there are than residuals: from the first autocorrelation."""
    if len(residuals) < 3 or not residuals.std() > 0:
        return 1.0
    centred = residuals - residuals.mean()
    rho = float((centred[1:] * centred[:-1]).sum() / (centred**2).sum())
    rho = min(max(rho, 0.0), 0.8)
    return (1 + rho) / (1 - rho)


def _together(samples: Sequence[StepSamples]) -> StepSamples:
    """All samples in one; those with fewer groups get empty ones."""
    groups = max((s.mixed.shape[1] for s in samples), default=1)

    def wide(part: Floats) -> Floats:
        return np.pad(part, ((0, 0), (0, groups - part.shape[1])))

    flat = ("seconds", "steps", "requests", "context", "depth", "graphs")
    return StepSamples(
        **{name: np.concatenate([getattr(s, name) for s in samples] or [np.zeros(0)]) for name in flat},
        mixed=np.concatenate([wide(s.mixed) for s in samples] or [np.zeros((0, 1))]),
        tokens=np.concatenate([wide(s.tokens) for s in samples] or [np.zeros((0, 1))]),
    )


def _residuals(logs: Floats, samples: StepSamples) -> Floats:
    floor, request, context, graph, eager, token, mixed_context, pair = np.exp(logs)
    s = samples
    decode = floor + request * s.requests + context * s.context
    dense = np.maximum(floor, token * s.tokens)
    attention = (request * s.requests + mixed_context * s.context)[:, None]
    gpu = dense + attention + pair * s.depth[:, None] * np.maximum(s.tokens - s.requests[:, None], 0.0)
    host = np.where(s.tokens > s.graphs[:, None] + 0.5, eager, graph)
    seconds = (s.steps - s.mixed.sum(axis=1)) * decode + (s.mixed * np.maximum(host, gpu)).sum(axis=1)
    return np.asarray(np.log(seconds / s.seconds), dtype=np.float64)


def _levenberg(x: Floats, residuals: Callable[[Floats], Floats], penalty: Floats) -> Floats:
    """Levenberg-Marquardt with Huber weights and a quadratic penalty on how far ``x`` moves from the start."""
    start = x.copy()
    damping = 1e-2
    cost = _cost(residuals(x), x - start, penalty)
    for _ in range(_ROUNDS):
        r = residuals(x)
        jacobian = np.stack([(residuals(x + step) - r) / 1e-4 for step in np.eye(len(x)) * 1e-4], axis=1)
        weights = np.minimum(1.0, _HUBER / np.maximum(np.abs(r), 1e-12))
        normal = jacobian.T @ (jacobian * weights[:, None]) + penalty
        gradient = jacobian.T @ (weights * r) + penalty @ (x - start)
        step = np.linalg.solve(normal + damping * np.diag(np.diag(normal)), -gradient)
        trial = x + np.clip(step, -0.7, 0.7)
        better = _cost(residuals(trial), trial - start, penalty)
        if better < cost:
            x, cost, damping = trial, better, damping / 3
        else:
            damping *= 4
    return x


def _cost(residuals: Floats, moved: Floats, penalty: Floats) -> float:
    size = np.abs(residuals)
    huber = np.where(size < _HUBER, 0.5 * residuals**2, _HUBER * (size - _HUBER / 2))
    return float(huber.sum() + 0.5 * moved @ penalty @ moved)


def _penalty(names: Sequence[str], samples: int, pull: float = _PULL) -> Floats:
    """A weak pull to the start, so that what no sample tells stays there, and one between the two costs of context.

    Reading a token of context costs about the same in a step with prefill as in one without (both start alike); where
    all chunks have one size, only that keeps it apart from the cost of attention between prompt tokens.
    """
    matrix = pull**2 * np.eye(len(names))
    tie = np.zeros(len(names))
    tie[names.index("decode_context_s")], tie[names.index("mixed_context_s")] = 1.0, -1.0
    matrix += samples * _TIE**2 * np.outer(tie, tie)
    return np.asarray(matrix, dtype=np.float64)
