"""Who holds the KV cache and the prefill during the incident: a table for the reader, weighed by no cause."""

from __future__ import annotations

import re
from collections.abc import Iterable

import msgspec
import numpy as np
from numpy.typing import NDArray

from whystall.model.load import Holder, HolderKind, Who, WhoSource
from whystall.state.histograms import bucket_counts, mean_of

from .scene import Scene

Floats = NDArray[np.float64]

MOST = 5  # holders of a kind
LEAST_SHARE = 0.02  # a holder of less is nobody's problem
LENGTHS = (256, 1024, 4096, 16384, 65536)  # upper ends of the classes of prompt lengths, tokens
_RECEIVED = re.compile(r"\AReceived request (\S{1,200}?):.{0,1900}?lora_name=['\"]([^'\"]{1,200})['\"]", re.DOTALL)


class Requests(msgspec.Struct, frozen=True):
    """Requests of one source. Times are seconds after the window's start: admitted, first token, end."""

    source: WhoSource
    admitted: Floats
    first: Floats
    end: Floats
    prompt: Floats
    output: Floats
    request: tuple[str, ...]
    adapter: tuple[str, ...]
    tenant: tuple[str, ...]


def who(scene: Scene) -> Who | None:
    """The requests, lengths, adapters and tenants that held most; None where nothing tells of single requests."""
    found = _of_spans(scene) or _of_client(scene)
    if found is None:
        return _of_lengths(scene)
    start, stop = _incident(scene)
    kv, prefill = kv_token_seconds(found, start, stop), prefill_tokens(found, start, stop)
    if not (kv.sum() > 0 or prefill.sum() > 0):
        return None
    holders = [
        *_grouped("request", found.request, kv, prefill),
        *_grouped("lengths", map(_length, found.prompt), kv, prefill),
        *_grouped("adapter", found.adapter, kv, prefill),
        *_grouped("tenant", found.tenant, kv, prefill),
    ]
    return Who(found.source, stop - start, _covered(scene, float(kv.sum())), tuple(holders))


def kv_token_seconds(found: Requests, start: float, stop: float) -> Floats:
    """Tokens in the KV cache times seconds, of each request between ``start`` and ``stop``.

    The prompt lies there from the admission to the end (its blocks are taken chunk by chunk, so this is an upper bound
    for a long prefill); the output grows evenly from the first token on.
    """
    whole = _overlap(found.admitted, found.end, start, stop)
    a, b = np.clip(start, found.first, found.end), np.clip(stop, found.first, found.end)
    decode = np.maximum(found.end - found.first, 1e-9)
    grown = ((b - found.first) ** 2 - (a - found.first) ** 2) / (2 * decode)
    return np.asarray(found.prompt * whole + found.output * np.maximum(grown, 0.0))


def prefill_tokens(found: Requests, start: float, stop: float) -> Floats:
    """Prompt tokens of each request, for the share of its prefill that lies between ``start`` and ``stop``."""
    spent = np.maximum(found.first - found.admitted, 1e-9)
    return np.asarray(found.prompt * np.minimum(_overlap(found.admitted, found.first, start, stop) / spent, 1.0))


def _overlap(begin: Floats, end: Floats, start: float, stop: float) -> Floats:
    return np.asarray(np.maximum(np.minimum(end, stop) - np.maximum(begin, start), 0.0))


def _of_spans(scene: Scene) -> Requests | None:
    """vLLM's own spans time every phase; the log's request lines may name the adapter of an id."""
    spans = scene.state.spans
    if not spans:
        return None
    named = _logged_adapters(scene)
    column = {
        name: np.array([getattr(span, name) for span in spans], dtype=np.float64)
        for name in ("start", "end", "ttft_s", "prefill_s", "prompt_tokens", "output_tokens")
    }
    first = column["start"] + np.nan_to_num(column["ttft_s"])
    own = scene.state.engine.model
    return Requests(
        source="spans",
        admitted=first - np.nan_to_num(column["prefill_s"]) - scene.state.start,
        first=first - scene.state.start,
        end=column["end"] - scene.state.start,
        prompt=np.nan_to_num(column["prompt_tokens"]),
        output=np.nan_to_num(column["output_tokens"]),
        request=tuple(span.request_id for span in spans),
        adapter=tuple(named.get(s.request_id, "" if s.adapter == own else s.adapter) for s in spans),
        tenant=tuple(span.tenant for span in spans),
    )


def _logged_adapters(scene: Scene) -> dict[str, str]:
    """Adapter by request id, where the server writes its requests into the log (``--enable-log-requests``)."""
    lines = (event.text for event in scene.state.events if event.id == "request_received")
    return {match[1]: match[2] for line in lines if (match := _RECEIVED.match(line))}


def _of_client(scene: Scene) -> Requests | None:
    """The client does not see the queue: a request counts as admitted a mean prefill before its first token."""
    client = scene.state.client
    if client is None:
        return None
    rows = client.rows
    served = np.isfinite(rows.ttft_s) & np.isfinite(rows.e2e_s) & np.isfinite(rows.prompt_tokens)
    if not served.any():
        return None
    first = rows.sent + rows.ttft_s
    prefill = mean_of(scene.state.prefill, scene.inside)
    took = np.fmin(rows.ttft_s, prefill if np.isfinite(prefill) else np.inf)
    senders = [s for s, kept in zip(rows.sender, served, strict=False) if kept]
    names = {field: tuple(getattr(s, field) for s in senders) for field in ("request", "adapter", "tenant")}
    nobody = ("",) * int(served.sum())
    return Requests(
        source="client",
        admitted=(first - took)[served] - scene.state.start,
        first=first[served] - scene.state.start,
        end=(rows.sent + rows.e2e_s)[served] - scene.state.start,
        prompt=rows.prompt_tokens[served],
        output=np.nan_to_num(rows.output_tokens[served]),
        **{field: named or nobody for field, named in names.items()},
    )


def _of_lengths(scene: Scene) -> Who | None:
    """Without single requests the histogram of prompt lengths tells whose prefill it was, by the middle of each bucket."""
    histogram = scene.state.prompt_length
    counts = bucket_counts(histogram, scene.inside)
    if not len(histogram.bounds) or not counts.sum() > 0:
        return None
    lower = np.concatenate(([0.0], histogram.bounds))
    upper = np.append(histogram.bounds, 2 * histogram.bounds[-1])
    middle = (lower + upper) / 2
    tokens, requests = counts * middle, np.rint(counts)
    names = [_length(value) for value in middle]
    holders = _grouped("lengths", names, np.zeros(len(tokens)), tokens, requests)
    shown = tuple(msgspec.structs.replace(one, kv_token_s=None, kv_ratio=None) for one in holders)
    return Who("metrics", scene.seconds, None, shown) if shown else None


def _grouped(
    kind: HolderKind, names: Iterable[str], kv: Floats, prefill: Floats, requests: Floats | None = None
) -> list[Holder]:
    """The largest holders by name; those without a name are nobody's."""
    sums: dict[str, list[float]] = {}
    counts = np.ones(len(kv)) if requests is None else requests
    for name, *values in zip(names, kv, prefill, counts, strict=True):
        if name and (values[0] > 0 or values[1] > 0):
            total = sums.setdefault(name, [0.0, 0.0, 0.0])
            for at, value in enumerate(values):
                total[at] += float(value)
    whole = max(float(kv.sum()), 1e-9), max(float(prefill.sum()), 1e-9)
    found = [
        Holder(kind, name, round(n), held, held / whole[0], tokens, tokens / whole[1])
        for name, (held, tokens, n) in sums.items()
        if max(held / whole[0], tokens / whole[1]) >= LEAST_SHARE
    ]
    found.sort(key=lambda one: -max(one.kv_ratio or 0.0, one.prefill_ratio))
    return found[:MOST]


def _length(tokens: float) -> str:
    low = 0
    for high in LENGTHS:
        if tokens <= high:
            return f"{low + 1}-{high}"
        low = high
    return f">{low}"


def _incident(scene: Scene) -> tuple[float, float]:
    inside = np.flatnonzero(scene.focus.inside)
    return float(scene.state.t_start[inside[0]]), float(scene.state.t_end[inside[-1]])


def _covered(scene: Scene, held: float) -> float | None:
    """What the source shows of the KV tokens that were in use; None where the pool's size is not known."""
    state = scene.state
    pool = state.limit_value("num_gpu_blocks") * state.limit_value("block_size")
    used = scene.mean((state.kv_usage_start + state.kv_usage_end) / 2) * pool * scene.seconds
    return min(held / used, 1.0) if used > 0 else None
