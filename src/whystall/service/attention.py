"""Whether an engine is worth a full diagnosis now: a look at its last figures, a thousand times cheaper."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import msgspec

from whystall.evidence.bounds import Bounds
from whystall.evidence.thresholds import level

from .figures import Figures, increase, mean_over

# Whoever looks is never wrong, only costs 30 ms: so these are set well below what a diagnosis calls a loss.
NEAR = 0.5  # of what is a loss
NEAR_FULL_KV = 0.85
LEARN = 0.05  # a calm look's weight in the usual figures: some twenty looks, a quarter of an hour
OVER_USUAL = 1.4  # an ITL that went up by so much is looked at: a fifth is a loss (``gain``), and noise is another


class Usual(msgspec.Struct):
    """What this engine's calm looks showed, as a running mean; NaN before the first."""

    itl_s: float = math.nan
    ttft_s: float = math.nan

    def learn(self, figures: Sequence[Figures]) -> None:
        """Take a calm stretch in."""
        for name in ("itl", "ttft"):
            seen = mean_over(figures[0], figures[-1], name)
            if math.isfinite(seen):
                old = getattr(self, f"{name}_s")
                setattr(self, f"{name}_s", seen if math.isnan(old) else (1 - LEARN) * old + LEARN * seen)


def reason(figures: Sequence[Figures], usual: Usual, bounds: Bounds) -> str:
    """Why to look, "" where nothing asks for it. ``figures``: since the look before, that one's last page included."""
    if len(figures) < 2:
        return "new"
    first, last = figures[0], figures[-1]
    if any(b.tokens < a.tokens for a, b in itertools.pairwise(figures)):
        return "restart"
    return _stuck(first, last) or _failing(first, last) or _full(figures) or _late(first, last, usual, bounds)


def _stuck(first: Figures, last: Figures) -> str:
    busy = first.running > 0 and last.running > 0
    return "no tokens" if busy and increase(first.tokens, last.tokens) == 0 else ""


def _failing(first: Figures, last: Figures) -> str:
    for name in ("rejections", "preemptions", "errors"):
        if increase(getattr(first, name), getattr(last, name)) > 0:
            return name
    return ""


def _full(figures: Sequence[Figures]) -> str:
    if sum(f.waiting > 0 for f in figures) >= 2:
        return "queue"
    return "kv" if max((f.kv_ratio for f in figures), default=0.0) > NEAR_FULL_KV else ""


def _late(first: Figures, last: Figures, usual: Usual, bounds: Bounds) -> str:
    queue, itl, ttft = (mean_over(first, last, name) for name in ("queue", "itl", "ttft"))
    if queue > NEAR * bounds.wait_s:
        return "queue"
    if itl > bounds.itl_s or itl > OVER_USUAL * max(usual.itl_s, NEAR * level("felt_itl") / OVER_USUAL):
        return "itl"
    over = 2 * max(usual.ttft_s, NEAR * bounds.wait_s) if math.isfinite(usual.ttft_s) else math.inf
    promised = bounds.ttft_s if bounds.ttft_s is not None else math.inf
    return "ttft" if ttft > over or ttft > NEAR * promised else ""


def still_late(figures: Sequence[Figures], usual: Usual) -> bool:
    """Whether tokens come well over the usual ITL in ``figures``; False where no usual one is known."""
    if len(figures) < 2 or not math.isfinite(usual.itl_s):
        return False
    return mean_over(figures[0], figures[-1], "itl") > OVER_USUAL * usual.itl_s


def felt_late(figures: Sequence[Figures], usual: Usual, bounds: Bounds) -> bool:
    """Whether tokens come well over the usual ITL, and over what was promised or is felt."""
    return still_late(figures, usual) and mean_over(figures[0], figures[-1], "itl") > bounds.itl_s
