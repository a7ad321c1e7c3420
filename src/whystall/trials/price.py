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


def sooner(e2e: Interval) -> bool:
    """Whether whole requests are shown to end sooner, by the least that counts. ``e2e``: gains, over 0 is better."""
    entry = METRICS["e2e_mean"]
    return e2e.low > 0 and e2e.mid >= least_gain(entry, entry.least_effect)


def is_price(metric: Metric, after: float | None, e2e: Interval, promised: Sequence[Metric]) -> bool:
    """Whether a worse ``metric``, now ``after``, is outweighed by what it bought."""
    return metric in TOKEN_GAPS and metric not in promised and after is not None and after < PAUSE_S and sooner(e2e)


def price_of(effects: Sequence[Effect]) -> Text | None:
    """What a gain costs in gaps between tokens, in words; None where they are not shown to have grown by their margin."""
    for effect in effects:
        grown = effect.low is not None and effect.low > METRICS[effect.metric].margin
        if effect.metric in TOKEN_GAPS and grown and effect.a and effect.b:
            a, b = (f"{1e3 * value:.3g}" for value in (effect.a, effect.b))
            return _PRICE.format(label=METRICS[effect.metric].label, a=a, b=b)
    return None
