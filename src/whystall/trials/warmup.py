"""Load that is thrown away until an arm behaves as it will: caches filled, first shapes compiled, batch at its size."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from whystall.errors import Unavailable
from whystall.model.trial import ArmName, WarmUp

from .arm import Arm
from .blocks import BlockResult
from .load.plan import LoadPlan

WINDOW_S = 10.0
_REQUESTS = 50  # method.md section 3: at least so many, the batch within 5% of its plateau, the hit rate flat
_FLAT, _FLAT_REQUESTS, _FLAT_HITS = 0.05, 0.2, 0.02


async def warm_up(
    name: ArmName, arm: Arm, plan: LoadPlan, *, seed: int, salts: Iterator[int], most_s: float
) -> tuple[WarmUp, list[BlockResult]]:
    """Send windows of the load until two in a row are alike, or for ``most_s``. The same requests in every window, so
    that only the server can make them differ.

    Raises Unavailable where a window's requests all failed.
    """
    windows: list[BlockResult] = []
    trace = plan.trace(WINDOW_S, seed=seed)
    while not (settled := _settled(windows)) and _seconds(windows) < most_s:
        windows.append(await arm.block(trace.salted(next(salts)), WINDOW_S * 3))
        _require_answers(arm, windows[-1])
    return WarmUp(name, _seconds(windows), sum(w.requests for w in windows), settled), windows


def _require_answers(arm: Arm, window: BlockResult) -> None:
    if window.requests and window.failed.all():
        raise Unavailable(
            f"{arm.label.target} failed all {window.requests} requests of the warm-up ({window.error})",
            "It must serve /v1/completions with prompts of token ids; check --model, and --prompt against its max_model_len.",
        )


def _seconds(windows: list[BlockResult]) -> float:
    return sum(w.seconds + w.drained_s for w in windows)


def _settled(windows: list[BlockResult]) -> bool:
    if len(windows) < 2 or sum(w.requests for w in windows) < _REQUESTS:
        return False
    before, last = windows[-2:]
    running = abs(last.in_flight - before.in_flight) <= max(_FLAT * before.in_flight, _FLAT_REQUESTS)
    hits = [w.hit_ratio for w in (before, last)]
    seen = [hit for hit in hits if hit is not None]
    return running and (len(seen) < 2 or abs(seen[1] - seen[0]) <= _FLAT_HITS)


def slowest_e2e_s(windows: list[BlockResult]) -> float:
    """The p95 E2E of the last window of an arm; 0 where nothing was answered."""
    e2e = windows[-1].e2e_s if windows else np.zeros(0)
    seen = e2e[np.isfinite(e2e)]
    return float(np.quantile(seen, 0.95)) if len(seen) else 0.0


def requests_per_s(windows: list[BlockResult]) -> float:
    """The rate at which an arm was asked."""
    return sum(w.requests for w in windows) / max(sum(w.seconds for w in windows), 1e-9)
