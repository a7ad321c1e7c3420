"""Speculation, multimodal inputs and KV transfer by interval, from one engine's pages."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from whystall.model.engine_state import Subsystems

from .series import EngineSeries

Floats = NDArray[np.float64]
MAX_POSITIONS = 64  # of a draft; a page that names more is no page of vLLM
_FAILURES = (
    "nixl_num_failed_transfers",
    "nixl_num_failed_notifications",
    "nixl_num_kv_expired_reqs",
    "nixl_num_notifications_after_expiry",
)
_BY_POSITION = "spec_decode_num_accepted_tokens_per_pos"


class Pages(Protocol):
    """What is read of an engine's pages: increases over the intervals, gauges at the scrapes."""

    series: EngineSeries

    def increase(self, name: str, part: str = "value", **labels: str) -> Floats: ...

    def gauge(self, name: str, **labels: str) -> Floats: ...


def subsystems(pages: Pages) -> Subsystems:
    """Arrays of one value an interval; all NaN for a part that is off."""
    return Subsystems(
        drafts=pages.increase("spec_decode_num_drafts"),
        accepted_by_position=_by_position(pages),
        mm_queries=pages.increase("mm_cache_queries"),
        mm_hits=pages.increase("mm_cache_hits"),
        external_queries=pages.increase("external_prefix_cache_queries"),
        fetching_end=pages.gauge("num_requests_kv_fetch_by_stage")[1:],
        transfers=pages.increase("nixl_xfer_time_seconds", "count"),
        transfer_s=pages.increase("nixl_xfer_time_seconds", "sum"),
        transfer_bytes=pages.increase("nixl_bytes_transferred", "sum"),
        transfer_failures=_failures(pages),
    )


def _by_position(pages: Pages) -> Floats:
    """Accepted tokens by position in the draft, positions in their order."""
    labels = {pages.series.label(row, "position") for row in pages.series.rows(_BY_POSITION)}
    positions = sorted(int(label) for label in labels if label.isdigit())[:MAX_POSITIONS]
    rows = [pages.increase(_BY_POSITION, position=str(position)) for position in positions]
    return np.stack(rows, axis=1) if rows else np.zeros((len(pages.increase("generation_tokens")), 0))


def _failures(pages: Pages) -> Floats:
    rows = np.stack([pages.increase(name) for name in _FAILURES])
    seen = np.isfinite(rows)
    return np.where(seen.any(axis=0), np.where(seen, rows, 0.0).sum(axis=0), np.nan)
