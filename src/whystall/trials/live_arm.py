"""An arm that listens: a server at an address, put under load over HTTP, on its own clock."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager

import msgspec
import numpy as np

from whystall.errors import NotMetrics, WhystallError
from whystall.model.trial import TrialArm
from whystall.sources.dialects import quantity
from whystall.sources.exposition import PageParser
from whystall.sources.live.access import Access
from whystall.sources.live.address import Address
from whystall.sources.live.clock import Clock
from whystall.sources.live.http import Session

from .blocks import BlockResult, ClientUse
from .load.exchange import Exchange
from .load.sender import LoadTarget, Sender
from .load.trace import Trace

_PLAIN = Access()


class LiveArm:
    """One server that is up. Made by :func:`live_arm`."""

    restarts = False

    def __init__(self, label: TrialArm, sender: Sender, session: Session) -> None:
        self.label = label
        self.sender = sender
        self.session = session
        self._parser = PageParser()

    @property
    def now(self) -> float:
        return self.sender.clock.now()

    async def prepare(self) -> None:
        """Nothing: this server is this arm's alone."""

    async def block(self, trace: Trace, drain_s: float) -> BlockResult:
        await self._read_clock()
        sender, seen = self.sender, list[Exchange]()
        sender.most_open, sender.left_out = 0, 0
        hits, begun, cpu = await self._cache(), time.monotonic(), time.process_time()
        start = await sender.play(trace, seen.append)
        cpu_ratio = (time.process_time() - cpu) / max(time.monotonic() - begun, 1e-9)
        await sender.drain(drain_s)
        ended = self.now
        lag = np.array([e.sent - e.intended for e in seen]) / sender.clock.speed  # ours, so on our clock
        use = ClientUse(lag, cpu_ratio, sender.most_open, sender.left_out, sender.clock.speed)
        result = block_result(seen, start, trace.seconds, ended)
        return msgspec.structs.replace(result, client=use, hit_ratio=_hit_ratio(hits, await self._cache()))

    async def _read_clock(self) -> None:
        answer = await self.session.get("/version")
        self.sender.clock.observe(answer.headers, answer.received)

    async def _cache(self) -> tuple[float, float] | None:
        """Tokens asked of and found in the prefix cache so far. None where the server does not say."""
        try:
            page = self._parser.parse((await self.session.metrics()).body)
        except WhystallError:
            return None
        totals = {"prefix_cache_queries": 0.0, "prefix_cache_hits": 0.0}
        found = False
        for index, value in zip(page.ids, page.values, strict=True):
            known = quantity(self._parser.keys[index].name)
            if known is not None and known.name in totals and known.part == "value":
                totals[known.name] += float(value)
                found = True
        return (totals["prefix_cache_queries"], totals["prefix_cache_hits"]) if found else None


def _hit_ratio(before: tuple[float, float] | None, after: tuple[float, float] | None) -> float | None:
    if before is None or after is None or after[0] <= before[0]:
        return None
    return (after[1] - before[1]) / (after[0] - before[0])


@asynccontextmanager
async def live_arm(
    url: str,
    *,
    access: Access = _PLAIN,
    model: str = "",
    natural_stops: bool = False,
    change: dict[str, str] | None = None,
) -> AsyncIterator[LiveArm]:
    """The server at ``url`` as an arm. ``model`` "" takes the first that it serves.

    Raises what :class:`~whystall.sources.live.http.Session` raises where it does not answer, NotMetrics where it is no
    OpenAI-compatible server.
    """
    address = Address.parse(url)
    async with Session(address, access) as session:
        target = LoadTarget(address.base, model or await first_model(session), access, natural_stops=natural_stops)
        async with Sender(target, Clock()) as sender:
            arm = LiveArm(TrialArm(address.base, change or {}), sender, session)
            await arm._read_clock()
            yield arm


class _Model(msgspec.Struct):
    id: str


class _Models(msgspec.Struct):
    data: list[_Model]


async def first_model(session: Session) -> str:
    """The first model that the server serves. Raises NotMetrics where it names none."""
    answer = await session.get("/v1/models")
    hint = "The load needs an OpenAI-compatible server; name its model with --model."
    try:
        return msgspec.json.decode(answer.body, type=_Models).data[0].id
    except (msgspec.MsgspecError, IndexError) as error:
        raise NotMetrics(f"{session.address.base}/v1/models names no model", hint) from error


def block_result(seen: Sequence[Exchange], start: float, seconds: float, ended: float) -> BlockResult:
    """The exchanges of a block as columns, in the order of their intended moments."""
    rows = sorted(seen, key=lambda e: e.intended)
    failed = np.array([e.error is not None for e in rows], dtype=bool)
    cut = np.array([e.cut for e in rows], dtype=bool)
    first = _column(rows, lambda e: e.chunks[0] if e.chunks else e.ended if e.cut else np.nan)
    last = _column(rows, lambda e: e.ended if e.cut or not e.chunks else e.chunks[-1])
    intended = _column(rows, lambda e: e.intended)
    outputs = _column(rows, lambda e: float(e.output_tokens))
    gaps = np.array([gap for e in rows for gap in e.gaps])
    moments = [(t, e.output_tokens / len(e.chunks)) for e in rows for t in e.chunks]
    tokens = np.array(moments).reshape(-1, 2)
    nothing = np.where(failed, np.nan, 0.0)
    return BlockResult(
        started=start,
        seconds=seconds,
        intended_s=intended - start,
        ttft_s=first - intended + nothing,
        e2e_s=last - intended + nothing,
        output_tokens=outputs,
        failed=failed,
        cut=cut,
        itl_s=gaps,
        itl_weights=np.ones(len(gaps)),
        tokens_t=tokens[:, 0] - start,
        tokens_n=tokens[:, 1],
        mean_gap_s=(last - first) / np.maximum(outputs - 1, 1),
        drained_s=max(ended - start - seconds, 0.0),
        error=next((name for name, _ in Counter(e.error for e in rows if e.error).most_common(1)), ""),
    )


def _column(
    rows: Sequence[Exchange], value: Callable[[Exchange], float]
) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    return np.array([value(row) for row in rows], dtype=np.float64)
