"""Whose load it was: for the reader of a diagnosis. None of it is weighed. Field names are the published JSON contract."""

from __future__ import annotations

from typing import Literal

import msgspec

from .text import Text

HolderKind = Literal["request", "lengths", "adapter", "tenant"]
WhoSource = Literal["spans", "client", "metrics"]
Length = Literal["prompt", "output"]


class Holder(msgspec.Struct, frozen=True):
    """A request, a class of prompt lengths, an adapter or a tenant, and what it held during the incident.

    ``kv_token_s`` are tokens in the KV cache times the seconds they lay there; None where nothing tells how long requests
    stayed. Ratios are of all that the source shows.
    """

    kind: HolderKind
    name: str
    requests: int
    kv_token_s: float | None
    kv_ratio: float | None
    prefill_tokens: float
    prefill_ratio: float


class Who(msgspec.Struct, frozen=True):
    """Who held most of the KV cache and of the prefill. ``covered_ratio`` is what the source shows of the KV in use.

    Spans and the client's rows come when a request ends: those that are still open are not in it.
    """

    source: WhoSource
    window_s: float
    covered_ratio: float | None
    holders: tuple[Holder, ...]


class Cohort(msgspec.Struct, frozen=True):
    """Requests of one class of lengths, before and during the incident: ``low`` < tokens <= ``high`` (None: no end)."""

    length: Length
    low: float
    high: float | None
    before_ratio: float
    now_ratio: float
    before_per_s: float
    now_per_s: float


class Lagged(msgspec.Struct, frozen=True):
    """A signal that moved together with a loss: their rank correlation at the lag where it is strongest.

    ``lag_s`` is how long the loss came after the signal. It is a view for people and no proof.
    """

    signal: str
    label: Text
    loss: str
    loss_label: Text
    lag_s: float
    correlation: float
    intervals: int
