"""Tokens that come slower in an answer that is there sooner: when they are a price, and no harm.

A token's moment lies between the first one's and the last one's. Where the first comes no later (its own guards see to
that) and the last is shown to come sooner, every token of the answer comes sooner than it did: what was bought outweighs
what it costs. That is so until the gap between two tokens is a wait of its own, or longer than was promised.
"""

from __future__ import annotations

from collections.abc import Sequence

from whystall.model.text import Text
from whystall.model.trial import Effect, Metric

from .metrics import METRICS, least_gain
from .sequential import Interval

TOKEN_GAPS: tuple[Metric, ...] = ("itl_mean", "itl_p50", "itl_p95")
PAUSE_S = 0.2  # as long a wait as is felt before the first token (DESIGN.md section 2)
_PRICE = Text("; price: {label} {a} to {b} ms", "；代价：{label} {a} → {b} 毫秒")


def seems_sooner(e2e: Sequence[Interval]) -> bool:
    """Whether whole requests end sooner as it seems, by the least that counts. ``e2e``: gains, over 0 is better, of the
    mean and, where it was measured, of the tail: both."""
    entry = METRICS["e2e_mean"]
    seen = [one for one in e2e if one.n]
    return bool(seen) and all(one.mid >= least_gain(entry, entry.least_effect) for one in seen)


def sooner(e2e: Sequence[Interval]) -> bool:
    """Whether that is shown, of one of them."""
    return seems_sooner(e2e) and any(one.low > 0 for one in e2e)


def may_have_price(metric: Metric, after: float | None, promised: Sequence[Metric]) -> bool:
    """Whether a worse ``metric``, now ``after``, is what something else may outweigh."""
    return metric in TOKEN_GAPS and metric not in promised and after is not None and after < PAUSE_S


def price_of(effects: Sequence[Effect]) -> Text | None:
    """What a gain costs in gaps between tokens, in words; None where they are not shown to have grown by their margin."""
    for effect in effects:
        grown = effect.low is not None and effect.low > METRICS[effect.metric].margin
        if effect.metric in TOKEN_GAPS and grown and effect.a and effect.b:
            a, b = (f"{1e3 * value:.3g}" for value in (effect.a, effect.b))
            return _PRICE.format(label=METRICS[effect.metric].label, a=a, b=b)
    return None
