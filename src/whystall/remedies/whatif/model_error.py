"""How far the emulated change is from a real one: what is added to the draws, so that the intervals are honest.

In logarithms. From benchmarks/fidelity: ``interventions`` (changes on a GPU, 5% of the change in the median and 20% at
worst) and ``real_knobs`` (flags on a CPU server, whose own noise goes with the error of the fit to its steps).
A change that does nothing in the engine's model is taken to do nothing: all parts grow with how much the change moves
at all, but for what two runs of one server on one trace differ by (method.md 3: replay of a trace in 60 s blocks).
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import msgspec

from whystall.model.prediction import Metric

NOISIEST = 0.12  # a worse fit is the fit's own doing, and its draws show it
MISSED = 0.3  # of what the window as it is comes out wrong; the rest is in whether that part moves with the change
FULL_AT = 0.7  # a change of this size (log) shows all of the machine's error; of smaller ones a part


class Share(msgspec.Struct, frozen=True):
    """``of_change``: of the predicted change itself; ``of_fit``: of the profile's error; ``beside``: of every change;
    ``again``: between two runs of one server."""

    of_change: float
    of_fit: float
    beside: float
    again: float


ERRORS: dict[Metric, Share] = {
    # A queue sums up what a step is off, so TTFT is off by more than its steps.
    "ttft_mean": Share(0.12, 2.0, 0.03, 0.011),
    "ttft_p95": Share(0.15, 2.0, 0.05, 0.022),
    "itl_mean": Share(0.12, 1.0, 0.015, 0.008),
    "itl_p95": Share(0.2, 1.5, 0.03, 0.016),
    "e2e_p95": Share(0.15, 1.0, 0.03, 0.012),
    "tokens_per_s": Share(0.1, 1.0, 0.015, 0.008),
    "goodput": Share(0.15, 1.0, 0.02, 0.012),
    "kv_headroom": Share(0.1, 0.5, 0.02, 0.005),
    "preemptions": Share(0.2, 1.0, 0.1, 0.05),
}
# The mean that tells how far the emulated window is from the measured one, for what has none of its own.
REPRODUCED_BY: dict[Metric, Metric] = {
    "ttft_mean": "ttft_mean",
    "ttft_p95": "ttft_mean",
    "itl_mean": "itl_mean",
    "itl_p95": "itl_mean",
    "e2e_p95": "itl_mean",
    "tokens_per_s": "tokens_per_s",
    "goodput": "tokens_per_s",
}


def spread(metric: Metric, moved: float, most: float, fit_error: float, off: Mapping[Metric, float]) -> float:
    """Standard deviation (log) of the model's error in one metric's change.

    ``moved``: the predicted change; ``most``: the largest one of any metric; ``off``: log of emulated over measured in
    the window as it is, by metric.
    """
    share = ERRORS[metric]
    size = min(most / FULL_AT, 1.0)
    missed = MISSED * off.get(REPRODUCED_BY.get(metric, metric), 0.0)
    noise = share.of_fit * min(fit_error, NOISIEST)
    parts = (share.of_change * moved, size * noise, size * share.beside, size * missed)
    return math.sqrt(share.again**2 + sum(part**2 for part in parts))
