"""vLLM's iteration log lines: what each engine step scheduled and how long it took, without a profiler."""

from __future__ import annotations

from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray

from whystall.errors import NotATrace
from whystall.model.configuration import IterationColumns
from whystall.sources.files.log_file import read_log_file
from whystall.sources.log import read_iterations, read_log
from whystall.sources.log_clock import LogAnchor


class IterationPhase(msgspec.Struct, frozen=True):
    """Steps of one phase; times in seconds, ``tokens`` scheduled. A step's time is the host's, from call to result."""

    phase: str
    steps: int
    seconds: float
    share: float
    p50_s: float
    p99_s: float
    max_s: float
    tokens: float
    requests_mean: float


class IterationSummary(msgspec.Struct, frozen=True):
    """``decode_s_per_request`` is the slope of pure decode steps over their batch, ``decode_base_s`` its value at 0."""

    steps: int
    start: float
    end: float
    phases: tuple[IterationPhase, ...]
    decode_base_s: float | None
    decode_s_per_request: float | None


def read_iteration_log(path: Path) -> IterationSummary:
    """Steps of a server's log. Raises :class:`NotATrace` where it has none."""
    file = read_log_file(path)
    written = path.stat().st_mtime
    columns = read_iterations(read_log(file.lines, LogAnchor(written, written)))
    if columns is None:
        raise NotATrace(
            f"{path.name} has no iteration lines", "Start the server with --enable-logging-iteration-details."
        )
    return summarise_iterations(columns)


def summarise_iterations(columns: IterationColumns) -> IterationSummary:
    """By phase, with a straight line through the pure decode steps."""
    context, generation = columns.context_requests > 0, columns.generation_requests > 0
    total = float(columns.elapsed_s.sum())
    masks = {"prefill": context & ~generation, "mixed": context & generation, "decode": ~context & generation}
    phases = [_phase(name, mask, columns, total) for name, mask in masks.items() if mask.any()]
    base, slope = _line(columns.generation_requests[masks["decode"]], columns.elapsed_s[masks["decode"]])
    return IterationSummary(
        steps=len(columns.t),
        start=float(columns.t.min()),
        end=float(columns.t.max()),
        phases=tuple(phases),
        decode_base_s=base,
        decode_s_per_request=slope,
    )


def _phase(name: str, mask: NDArray[np.bool_], columns: IterationColumns, total: float) -> IterationPhase:
    elapsed = columns.elapsed_s[mask]
    p50, p99 = np.quantile(elapsed, [0.5, 0.99])
    tokens = columns.context_tokens[mask] + columns.generation_tokens[mask]
    requests = columns.context_requests[mask] + columns.generation_requests[mask]
    seconds = float(elapsed.sum())
    return IterationPhase(
        phase=name,
        steps=int(mask.sum()),
        seconds=seconds,
        share=seconds / total if total else 0.0,
        p50_s=float(p50),
        p99_s=float(p99),
        max_s=float(elapsed.max()),
        tokens=float(tokens.sum()),
        requests_mean=float(requests.mean()),
    )


def _line(batch: NDArray[np.float64], elapsed: NDArray[np.float64]) -> tuple[float | None, float | None]:
    if len(np.unique(batch)) < 3:
        return None, None
    slope, base = np.polyfit(batch, elapsed, 1)
    return float(base), float(slope)
