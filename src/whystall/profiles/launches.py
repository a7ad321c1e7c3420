"""How work reached the GPU: one call at a time or by graph, and how long that took."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .linked import LinkedTrace
from .shares import share
from .summary import Launches

_SHORT_KERNEL_NS = 5_000


def launch_figures(linked: LinkedTrace, window_ns: int) -> Launches:
    """Counts and delays over the whole trace."""
    work, calls = linked.trace.work, linked.trace.calls
    eager = linked.kernel & (linked.call >= 0) & ~linked.graph
    rows = np.flatnonzero(eager)
    of_row = linked.call[rows]
    delay = work.start[rows] - calls.start[of_row]
    took = calls.duration[of_row]
    kernels = int(linked.kernel.sum())
    duration = work.duration[linked.kernel]
    unlinked = linked.call < 0
    return Launches(
        kernels=kernels,
        kernels_per_s=kernels / window_ns * 1e9 if window_ns else None,
        mean_kernel_ns=float(duration.mean()) if kernels else None,
        short_kernels_share=float((duration < _SHORT_KERNEL_NS).mean()) if kernels else None,
        shorter_than_launch_share=float((work.duration[rows] < took).mean()) if len(rows) else None,
        graph_kernels=int((linked.graph & linked.kernel).sum()),
        graph_launches=len(np.unique(linked.call[linked.graph])),
        eager_launches=len(np.unique(of_row)),
        unlinked=int(unlinked.sum()),
        unlinked_share=share(int(work.duration[unlinked].sum()), int(work.duration.sum())),
        delay_p50_ns=_quantile(delay, 0.5),
        delay_p99_ns=_quantile(delay, 0.99),
        call_p50_ns=_quantile(took, 0.5),
    )


def _quantile(values: NDArray[np.int64], level: float) -> float | None:
    return float(np.quantile(values, level)) if len(values) else None
