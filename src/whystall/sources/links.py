"""Rounds of probes between hosts as columns, whether a daemon made them or a recording holds them."""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec
import numpy as np

from whystall.model.recording import LinkColumns


class LinkRow(msgspec.Struct, frozen=True):
    """One round of probes to ``peer`` (host:port): when it ended (unix seconds), round trips in seconds, None where none
    came back, how many of ``sent`` did not."""

    t: float
    peer: str
    rtt_min_s: float | None
    rtt_median_s: float | None
    rtt_max_s: float | None
    sent: int
    lost: int


def link_columns(rows: Sequence[LinkRow]) -> LinkColumns | None:
    """Columns of all rows in their order; None where there are none."""
    if not rows:
        return None

    def column(name: str) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        found = (getattr(row, name) for row in rows)
        return np.array([math.nan if value is None else float(value) for value in found])

    return LinkColumns(
        column("t"),
        tuple(row.peer for row in rows),
        column("rtt_min_s"),
        column("rtt_median_s"),
        column("rtt_max_s"),
        column("sent"),
        column("lost"),
    )
