"""One arm's turn under load: what its requests saw, and the figures that are compared."""

from __future__ import annotations

import msgspec
import numpy as np
from numpy.typing import NDArray

from whystall.model.slo import Slo
from whystall.model.trial import Metric

Floats = NDArray[np.float64]


def _none() -> Floats:
    return np.zeros(0)


class ClientUse(msgspec.Struct, frozen=True):
    """What sending cost us: requests' lag behind their intended moment (seconds), the share of a core, most in flight.

    ``left_out``: requests that were not sent because too many were open. ``speed``: seconds of the target's in one of
    ours.
    """

    lag_s: Floats = msgspec.field(default_factory=_none)
    cpu_ratio: float | None = None
    most_open: int = 0
    left_out: int = 0
    speed: float = 1.0


class BlockResult(msgspec.Struct, frozen=True, kw_only=True):
    """The requests of a block, one row each in the order in which they should have gone out; all was waited for.

    Times are seconds on the target's clock. ``intended_s`` counts from the block's start, and latencies from the
    intended moment, so that a client or a server that holds the next request up does not hide it. A request that was
    given up unanswered has what it had waited by then and counts as ``cut``, not as failed; one that failed has NaN.
    ``itl_s``, ``itl_weights``: gaps between tokens of all of them, and how often each came. ``tokens_t``,
    ``tokens_n``: when tokens came, from the block's start.
    """

    started: float
    seconds: float
    intended_s: Floats
    ttft_s: Floats
    e2e_s: Floats
    output_tokens: Floats
    failed: NDArray[np.bool_]
    cut: NDArray[np.bool_]
    itl_s: Floats
    itl_weights: Floats
    tokens_t: Floats
    tokens_n: Floats
    mean_gap_s: Floats = msgspec.field(default_factory=_none)  # a request's mean gap, for its SLO
    hit_ratio: float | None = None
    client: ClientUse | None = None
    drained_s: float = 0.0  # after the block's end, until the last answer
    error: str = ""  # the most frequent one, where any failed

    @property
    def requests(self) -> int:
        return len(self.intended_s)

    @property
    def in_flight(self) -> float:
        """Requests under way, the mean over the block's time."""
        ends = np.minimum(self.intended_s + np.nan_to_num(self.e2e_s, nan=0.0), self.seconds)
        return float(np.sum(np.maximum(ends - self.intended_s, 0.0)) / self.seconds)

    def figures(self, head_s: float = 0.0, slo: Slo | None = None) -> dict[Metric, float | None]:
        """Every metric over the requests intended from ``head_s`` on, and the tokens between then and the end.

        The first seconds of a block only fill the server that the block before has drained, and its end only empties it.
        """
        late = self.intended_s >= head_s
        served = late & ~self.failed
        ttft, e2e = self.ttft_s[served], self.e2e_s[served]
        inside = (self.tokens_t >= head_s) & (self.tokens_t < self.seconds)
        span = max(self.seconds - head_s, 1e-9)
        good = self._good(slo)[late] if slo is not None else None
        gaps, weights = self.itl_s, self.itl_weights
        return {
            "ttft_mean": _mean(ttft),
            "ttft_p50": _quantile(ttft, 0.5),
            "ttft_p95": _quantile(ttft, 0.95),
            "itl_mean": float(np.average(gaps, weights=weights)) if weights.sum() > 0 else None,
            "itl_p50": weighted_quantile(gaps, weights, 0.5),
            "itl_p95": weighted_quantile(gaps, weights, 0.95),
            "e2e_mean": _mean(e2e),
            "e2e_p95": _quantile(e2e, 0.95),
            "tokens_per_s": float(self.tokens_n[inside].sum()) / span,
            "goodput": float(good.sum()) / span if good is not None else None,
            "slo_attainment": float(good.mean()) if good is not None and len(good) else None,
            "errors": float(self.failed[late].mean()) if late.any() else None,
            "output_tokens": _mean(self.output_tokens[served & ~self.cut]),
        }

    def _good(self, slo: Slo) -> NDArray[np.bool_]:
        """Requests that were answered whole within the bounds; a bound of ITL is on the request's mean gap."""
        good = ~self.failed & ~self.cut
        bounds = ((self.ttft_s, slo.ttft_p95_s), (self.e2e_s, slo.e2e_p95_s), (self.mean_gap_s, slo.itl_p95_s))
        for values, bound in bounds:
            if bound is not None and len(values) == len(good):
                good = good & ~(values > bound)
        return np.asarray(good)


def _mean(values: Floats) -> float | None:
    seen = values[np.isfinite(values)]
    return float(seen.mean()) if len(seen) else None


def _quantile(values: Floats, q: float) -> float | None:
    seen = values[np.isfinite(values)]
    return float(np.quantile(seen, q)) if len(seen) else None


def weighted_quantile(values: Floats, weights: Floats, q: float) -> float | None:
    """The least value that a share ``q`` of the weight does not exceed. None where there is no weight."""
    total = float(weights.sum())
    if not total > 0:
        return None
    order = np.argsort(values, kind="stable")
    reached = np.cumsum(weights[order])
    return float(values[order[min(int(np.searchsorted(reached, q * total)), len(order) - 1)]])
