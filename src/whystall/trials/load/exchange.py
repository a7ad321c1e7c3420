"""One request as its client saw it, on the target's clock."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import msgspec

from whystall.sources.client import RequestRow


class Exchange(msgspec.Struct, frozen=True, kw_only=True):
    """Times are unix seconds of the target. ``chunks`` is when each piece of the stream came.

    ``error`` says what went wrong; ``cut`` that we gave it up, which is no error of the server's. ``ended`` is when the
    stream was over, failed or was given up.
    """

    intended: float
    sent: float
    ended: float
    prompt_tokens: int
    output_tokens: int
    chunks: tuple[float, ...]
    error: str | None = None
    cut: bool = False

    @property
    def gaps(self) -> list[float]:
        return [b - a for a, b in pairwise(self.chunks)]

    def row(self) -> RequestRow:
        """A line of ``requests.jsonl``: times from the moment of sending, the intended moment beside it."""
        gaps = sorted(self.gaps)
        last = self.chunks[-1] if self.chunks else self.ended
        return RequestRow(
            intended=self.intended,
            sent=self.sent,
            prompt_tokens=self.prompt_tokens,
            output_tokens=self.output_tokens,
            chunks=len(self.chunks),
            ttft=self.chunks[0] - self.sent if self.chunks else None,
            e2e=last - self.sent,
            itl_p50=_quantile(gaps, 0.5),
            itl_p99=_quantile(gaps, 0.99),
            itl_max=_quantile(gaps, 1.0),
            error=self.error,
        )


def _quantile(ordered: Sequence[float], q: float) -> float | None:
    return round(ordered[min(len(ordered) - 1, int(q * len(ordered)))], 6) if ordered else None
