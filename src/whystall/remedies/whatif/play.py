"""Runs: the server as it is and as it would be, on the same load, the same steps and the same chance."""

from __future__ import annotations

import math
from collections.abc import Iterator

import msgspec
import numpy as np

from whystall.emulator.engine.engine import Engine
from whystall.emulator.engine.figures import figures_of
from whystall.emulator.engine.options import EngineOptions
from whystall.emulator.engine.profile import StepProfile
from whystall.emulator.engine.request import Request
from whystall.model.diagnosis import Cause
from whystall.model.prediction import Metric
from whystall.model.slo import Slo
from whystall.state.arrivals import play_load

from .load import LoadDraw
from .split import HOST, LINKS
from .subject import Subject
from .variant import Draw, Variant

DRAWS = 20
# What a request must keep to count as served well where nothing was promised: who waits longer for the first word
# goes away (DESIGN, SLO), and words that come slower than a person reads are felt.
GOOD_TTFT_S, GOOD_ITL_S = 1.0, 0.05
_PEAK = 0.95


class Figures(msgspec.Struct, frozen=True):
    """One run's metrics, and what tells which limit binds: shares of time, requests and steps."""

    metrics: dict[Metric, float]
    seats_full: float  # share of time with all seats taken
    queued: float  # share of time with somebody waiting
    kv_peak: float
    kv_short: float  # share of time with somebody waiting and few blocks free
    rejected_per_s: float
    running_peak: float


def draws_of(subject: Subject, count: int = DRAWS) -> list[Draw]:
    """``count`` draws over the steps' coefficients, the load and the causes."""
    profiles = subject.machine.draws(count, seed=1)
    causes = _causes(subject.case.diagnosis.causes, count)
    loads = [subject.load(number + 1, anew=number > 0) for number in range(count)]
    return [Draw(i, p, load, c) for i, (p, load, c) in enumerate(zip(profiles, loads, causes, strict=True))]


def _causes(causes: tuple[Cause, ...], count: int) -> list[str]:
    """Of the causes that say where a step's time goes, one by draw, in proportion; "" where none does."""
    weights = {c.id: c.probability for c in causes if c.id in HOST or c.id in LINKS}
    total = max(sum(weights.values()), 1.0)
    edges = np.cumsum([w / total for w in weights.values()])
    places = [int(np.searchsorted(edges, (number + 0.5) / count)) for number in range(count)]
    names = [*weights, ""]
    # Mixed up, so that a cause does not go with a stretch of the coefficients' draws.
    order = np.random.default_rng(7).permutation(count)
    return [names[places[i]] for i in order]


def runs(subject: Subject, variant: Variant, draws: list[Draw]) -> Iterator[Figures]:
    """One run for each draw."""
    for draw in draws:
        load = variant.load(draw.load)
        engine = played(variant.options, variant.profile(draw.profile, draw), load, subject.stop)
        yield figures(engine, subject.start, subject.stop, subject.slo, variant.replicas, load.refused_per_s)


def played(options: EngineOptions, profile: StepProfile, load: LoadDraw, stop: float) -> Engine:
    """An engine that has served ``load`` up to ``stop``."""
    engine = Engine(options, profile, start=load.start)
    play_load(engine, list(load.segments), seed=load.seed)
    engine.advance(stop)
    return engine


def figures(
    engine: Engine, start: float, stop: float, slo: Slo | None = None, replicas: int = 1, refused_per_s: float = 0.0
) -> Figures:
    """The figures of (start, stop]; sums are over all ``replicas``."""
    run, journal = figures_of(engine, start, stop), engine.journal
    end, gap = journal.columns("end"), journal.columns("gap")
    inside = (end > start) & (end <= stop)
    running, waiting = journal.columns("running")[inside], journal.columns("waiting")[inside]
    used = 1 - journal.columns("free_blocks")[inside] / max(engine.options.num_gpu_blocks - 1, 1)
    weights = gap[inside]
    good = sum(_is_good(r, slo) for r in journal.finished if start < r.finished <= stop)
    peak = _peak(used, weights)
    return Figures(
        metrics={
            "ttft_mean": run.ttft_mean_s,
            "ttft_p95": run.ttft_p95_s,
            "itl_mean": run.itl_mean_s,
            "itl_p95": run.itl_p95_s,
            "e2e_p95": run.e2e_p95_s,
            "tokens_per_s": run.tokens_per_s * replicas,
            "goodput": good / (stop - start) * replicas,
            "kv_headroom": 1 - peak,
            "preemptions": run.preemptions_per_s * replicas,
        },
        seats_full=_share((running >= engine.options.seats) & (waiting > 0), weights),
        queued=_share(waiting > 0, weights),
        kv_peak=peak,
        kv_short=_share((waiting > 0) & (running < engine.options.seats) & (used > 0.7), weights),
        rejected_per_s=(run.rejected_per_s + refused_per_s) * replicas,
        running_peak=_peak(running, weights),
    )


def _is_good(request: Request, slo: Slo | None) -> bool:
    first = request.first_token - request.arrival
    mean = (request.last_token - request.first_token) / max(request.output_tokens - 1, 1)
    promised = slo or Slo()
    bounds = (promised.ttft_p95_s, promised.itl_p95_s, promised.e2e_p95_s)
    if not any(bounds):
        return first <= GOOD_TTFT_S and mean <= GOOD_ITL_S
    values = (first, mean, request.finished - request.arrival)
    return all(value <= bound for value, bound in zip(values, bounds, strict=True) if bound)


def _share(where: np.ndarray, weights: np.ndarray) -> float:
    total = float(weights.sum())
    return float(weights[where].sum()) / total if total > 0 else 0.0


def _peak(values: np.ndarray, weights: np.ndarray) -> float:
    if not len(values) or not weights.sum() > 0:
        return 0.0
    order = np.argsort(values)
    reached = np.cumsum(weights[order])
    place = int(np.searchsorted(reached, _PEAK * reached[-1]))
    peak = float(values[order][min(place, len(values) - 1)])
    return peak if math.isfinite(peak) else 0.0
