"""From where on a wait is a loss: what was promised, else what a user feels."""

from __future__ import annotations

import msgspec

from whystall.model.slo import Slo

from .thresholds import level


class Bounds(msgspec.Struct, frozen=True):
    """Seconds and shares above which something is a loss.

    ``ttft_s`` and ``e2e_s`` are promises for the whole time to the first token and to the end, None without one: then
    only the part that the server could save counts (``wait_s``, queue or front end). An ITL that was promised is a loss
    above that; without a promise only where it is also far over the usual one.
    """

    wait_s: float
    itl_s: float
    errors_ratio: float
    ttft_s: float | None = None
    e2e_s: float | None = None
    itl_promised: bool = False


def bounds(slo: Slo | None) -> Bounds:
    """The bounds of an SLO; what it leaves open is judged by what is felt (DESIGN.md, SLO)."""
    promised = slo or Slo()
    ttft, itl, errors = promised.ttft_p95_s, promised.itl_p95_s, promised.errors_ratio
    return Bounds(
        wait_s=level("felt_wait") if ttft is None else ttft,
        itl_s=level("felt_itl") if itl is None else itl,
        errors_ratio=level("felt_errors") if errors is None else errors,
        ttft_s=ttft,
        e2e_s=promised.e2e_p95_s,
        itl_promised=itl is not None,
    )
