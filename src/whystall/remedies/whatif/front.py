"""The front end's part of a TTFT: what the engine's model does not show itself, and how it grows with what is handed out.

The process that takes requests in also hands every token out, and has one thread for both. Who comes while it hands
out tokens waits for it, longer the more tokens there are: a queue with one server, whose work comes in pieces
(Pollaczek-Khinchine: utilization / (1 - utilization) times half a piece). A piece is what it does in one turn of its
loop; how long a turn is nobody sees from outside, so each draw takes another.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import msgspec
import numpy as np

from whystall.state.histograms import mean_of

from .play import Figures, runs
from .subject import Subject
from .variant import Draw, Variant

_PLAYED = 3  # draws tell how much of a TTFT the engine's model has: it hardly differs from one to the next
_NO_QUEUE = 0.1  # of a TTFT: then what is not front end is a step's wait and the prefill, which the model has
_FULL = 0.9  # of its one thread; more is no utilization of one, and no queue that would settle in a window
_IDLE = 0.08  # cores without any request: API processes of H200 recordings
_LONGEST_TURN_S = 0.04  # from one step's tokens to those of some, with what else the loop does meanwhile
_TAIL = -math.log(0.05)  # p95 of a wait over its mean, where waits are exponential


def settled(subject: Subject, draws: Sequence[Draw]) -> list[Draw]:
    """``draws`` with no more front end than the measured TTFT leaves for it.

    Where the engine is never idle, what a TTFT has beside queue and prefill holds the wait for the step under way. The
    runs have that wait themselves, and would have it twice.
    """
    measured, queue = subject.now["ttft_mean"], mean_of(subject.state.queue, subject.inside)
    if not (measured > 0 and queue < _NO_QUEUE * measured):
        return list(draws)
    seen = [f.metrics["ttft_mean"] for f in runs(subject, Variant(subject.options), list(draws[:_PLAYED]))]
    twice = float(np.median(seen)) - measured
    return [_less(draw, twice) for draw in draws] if twice > 0 else list(draws)


def _less(draw: Draw, seconds: float) -> Draw:
    front = max(draw.profile.front_s - seconds, 0.0)
    return msgspec.structs.replace(draw, profile=msgspec.structs.replace(draw.profile, front_s=front))


def handed_out(
    subject: Subject, replicas: int, draws: Sequence[Draw], baseline: Sequence[Figures], changed: Sequence[Figures]
) -> Iterator[Figures]:
    """``changed`` with the front end's wait under as many tokens as come there; as it is where its CPU was not seen."""
    cores = subject.state.api_cores[subject.inside]
    busy = float(cores[np.isfinite(cores)].mean()) - _IDLE if np.isfinite(cores).any() else math.nan
    for draw, before, after in zip(draws, baseline, changed, strict=True):
        ratio = after.metrics["tokens_per_s"] / replicas / before.metrics["tokens_per_s"]
        if not (0 < busy < _FULL and math.isfinite(ratio)):
            yield after
            continue
        step = after.metrics["itl_mean"]
        turn = draw.uniform("turn", min(step, _LONGEST_TURN_S), _LONGEST_TURN_S) if step > 0 else 0.0
        yield _later(after, _wait(busy * ratio, turn) - _wait(busy, turn))


def _wait(busy: float, turn: float) -> float:
    """Mean seconds until the process takes a request in, where it hands out in one piece what a turn has."""
    busy = min(busy, _FULL)
    return busy / (1 - busy) * busy * turn / 2


def _later(figures: Figures, seconds: float) -> Figures:
    metrics = dict(figures.metrics)
    for metric, times in (("ttft_mean", 1.0), ("ttft_p95", _TAIL), ("e2e_p95", 1.0)):
        metrics[metric] = max(metrics[metric] + seconds * times, 0.1 * metrics[metric])  # type: ignore[index]
    return msgspec.structs.replace(figures, metrics=metrics)
