"""The client's view, as the lines of requests.jsonl have it, to columns."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np

from whystall.model.recording import ClientColumns, Floats, Sender

_NAN = float("nan")
MAX_NAME = 200  # of a request, an adapter or a tenant


class RequestRow(msgspec.Struct, frozen=True):
    """One line of requests.jsonl: one finished request. Times of day are unix seconds, durations seconds."""

    intended: float | None = None
    sent: float | None = None
    prompt_tokens: float | None = None
    output_tokens: float | None = None
    chunks: float | None = None
    ttft: float | None = None
    e2e: float | None = None
    itl_p50: float | None = None
    itl_p99: float | None = None
    itl_max: float | None = None
    error: str | None = None
    request_id: str | None = None
    adapter: str | None = None
    tenant: str | None = None


def client_columns(rows: Sequence[RequestRow]) -> ClientColumns | None:
    """Columns in the order of ``sent``; a row without ``sent`` is taken as sent when intended. None without rows."""
    timed = [row for row in rows if row.sent is not None or row.intended is not None]
    if not timed:
        return None
    timed.sort(key=_sent)
    return ClientColumns(
        intended=np.array([row.intended if row.intended is not None else _sent(row) for row in timed]),
        sent=np.array([_sent(row) for row in timed]),
        prompt_tokens=_column(timed, "prompt_tokens"),
        output_tokens=_column(timed, "output_tokens"),
        chunks=_column(timed, "chunks"),
        ttft_s=_column(timed, "ttft"),
        e2e_s=_column(timed, "e2e"),
        itl_p50_s=_column(timed, "itl_p50"),
        itl_p99_s=_column(timed, "itl_p99"),
        itl_max_s=_column(timed, "itl_max"),
        error=tuple(row.error for row in timed),
        sender=_senders(timed),
    )


def _senders(rows: Sequence[RequestRow]) -> tuple[Sender, ...]:
    found = [Sender(*((text or "")[:MAX_NAME] for text in (r.request_id, r.adapter, r.tenant))) for r in rows]
    return tuple(found) if any(one != Sender() for one in found) else ()


def _sent(row: RequestRow) -> float:
    return row.sent if row.sent is not None else row.intended if row.intended is not None else _NAN


def _column(rows: Sequence[RequestRow], name: str) -> Floats:
    return np.array([_NAN if (value := getattr(row, name)) is None else value for row in rows], dtype=np.float64)
