"""An arm under the users' own load: nothing is sent, a block is a stretch of looking."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable

import numpy as np

from whystall.model.engine_state import EngineState, Floats, HistogramDelta
from whystall.model.recording import Recording
from whystall.model.slo import Slo
from whystall.model.trial import Metric, TrialArm
from whystall.state.histograms import mean_of, quantile_of
from whystall.state.recorded import states_of
from whystall.trials.blocks import BlockResult
from whystall.trials.load.trace import Trace

Look = Callable[[float], Awaitable[Recording]]
LEAST_REQUESTS = 20  # fewer finished in a block have no tail, and hardly a mean


class SeenBlock(BlockResult, frozen=True, kw_only=True):
    """A block whose figures are the server's own counters; rows of requests there are none but their number."""

    seen: dict[Metric, float | None]
    running: float = 0.0

    @property
    def in_flight(self) -> float:
        return self.running

    def figures(self, head_s: float = 0.0, slo: Slo | None = None) -> dict[Metric, float | None]:
        """The counters know no single request, so that a head cannot be left out: the warm-up was."""
        return self.seen


class ObservedArm:
    """One side of a server whose users go on as they do. ``look`` gives what is seen in so many seconds."""

    restarts = True

    def __init__(self, label: TrialArm, prepare: Callable[[], Awaitable[None]], look: Look) -> None:
        self.label = label
        self._prepare = prepare
        self._look = look
        self._now = time.time()

    @property
    def now(self) -> float:
        return self._now

    async def prepare(self) -> None:
        """Bring the server to this side."""
        await self._prepare()

    async def block(self, trace: Trace, drain_s: float) -> BlockResult:
        """Look for as long as the trace would have taken."""
        recording = await self._look(trace.seconds)
        self._now = float(recording.metrics.times[-1])
        return seen_block(recording)


def seen_block(recording: Recording) -> SeenBlock:
    """What the counters of all engines say of the window; None where too few requests ended in it."""
    states = states_of(recording)
    seconds = float(recording.metrics.times[-1] - recording.metrics.times[0])
    finished = sum(_total(state.finished) for state in states)
    failed = sum(_total(state.http_errors) + _total(state.rejections) for state in states)
    rows = max(int(finished + failed), 0)
    nothing = np.full(rows, np.nan)
    bad = np.zeros(rows, dtype=bool)
    bad[: int(failed)] = True
    return SeenBlock(
        started=float(recording.metrics.times[0]),
        seconds=seconds,
        intended_s=np.linspace(0.0, seconds, rows, endpoint=False),
        ttft_s=nothing,
        e2e_s=nothing,
        output_tokens=nothing,
        failed=bad,
        cut=np.zeros(rows, dtype=bool),
        itl_s=np.zeros(0),
        itl_weights=np.zeros(0),
        tokens_t=np.zeros(0),
        tokens_n=np.zeros(0),
        seen=_figures(states, seconds, finished, failed),
        running=sum(_mean(state.running_end) for state in states),
    )


def _figures(states: list[EngineState], seconds: float, finished: float, failed: float) -> dict[Metric, float | None]:
    first = max(states, key=lambda state: _total(state.first_tokens))
    tokens = sum(_total(state.generation_tokens) for state in states)
    thin = finished < LEAST_REQUESTS
    return {
        "ttft_mean": None if thin else _finite(mean_of(first.ttft)),
        "ttft_p50": None if thin else _quantile(first.ttft, 0.5),
        "ttft_p95": None if thin else _quantile(first.ttft, 0.95),
        "itl_mean": None if thin else _finite(mean_of(first.itl)),
        "itl_p50": None if thin else _quantile(first.itl, 0.5),
        "itl_p95": None if thin else _quantile(first.itl, 0.95),
        "e2e_mean": None if thin else _finite(mean_of(first.e2e)),
        "e2e_p95": None if thin else _quantile(first.e2e, 0.95),
        "tokens_per_s": tokens / seconds if seconds > 0 and tokens > 0 else None,
        "errors": failed / (finished + failed) if finished + failed > 0 else None,
        "output_tokens": None if thin else _finite(mean_of(first.output_length)),
    }


def _quantile(histogram: HistogramDelta, q: float) -> float | None:
    return _finite(quantile_of(histogram, q)[0])


def _finite(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None


def _total(values: Floats) -> float:
    return float(np.nansum(values))


def _mean(values: Floats) -> float:
    return float(np.nanmean(values)) if np.isfinite(values).any() else 0.0
