"""What is looked at beside a server's own pages: exporters, spans that it sends, spans that a tracing system keeps."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import msgspec
import numpy as np

from whystall.errors import UsageError
from whystall.model.recording import InputWarning, Recording, SeriesTable, SpanRow
from whystall.model.text import Text
from whystall.service.links import Links, Probing, Round
from whystall.service.pulse import Pulse
from whystall.sources.hardware.columns import gpu_of, host_of, not_hardware
from whystall.sources.hardware.dcgm import xid_lines
from whystall.sources.live.access import Access
from whystall.sources.live.address import Address
from whystall.sources.live.page_watch import watch_page
from whystall.sources.tracing.query import jaeger_spans, zipkin_spans
from whystall.sources.tracing.receive import receive
from whystall.sources.tracing.receiver import SpanBox

PROBE_EVERY_S = 5.0  # a look is short
Take = Callable[[Sequence[Round]], None]
_NO_SPANS = Text(
    "no request span came to {listen} ({exports} exports, {refused} refused)",
    "{listen} 没有收到请求 span（{exports} 次上报，{refused} 次被拒绝）",
)


class Companions(msgspec.Struct, frozen=True):
    """Addresses as they were given, "" where they were not. ``service`` is the name that the spans are kept under,
    ``peers`` other daemons, to whose hosts round trips are measured."""

    dcgm: str = ""
    node_exporter: str = ""
    otlp_listen: str = ""
    jaeger: str = ""
    zipkin: str = ""
    service: str = "vllm"
    peers: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return any((self.dcgm, self.node_exporter, self.otlp_listen, self.jaeger, self.zipkin, self.peers))


async def with_companions(
    looking: Coroutine[Any, Any, Recording], beside: Companions, seconds: float, interval_s: float, access: Access
) -> Recording:
    """What ``looking`` gives, with what the companions saw meanwhile. Raises what any of them raises.

    Exporters are asked without the server's token; Jaeger and Zipkin with it, since a gateway stands before all three.
    """
    box, plain = SpanBox(), Access(timeout_s=access.timeout_s)
    async with AsyncExitStack() as stack:
        await _listen(stack, beside.otlp_listen, box, looking)
        links = await stack.enter_async_context(probing(beside.peers))
        named = [url for url in (beside.dcgm, beside.node_exporter) if url]
        pages = [asyncio.ensure_future(_exporter(url, plain, seconds, interval_s)) for url in named]
        try:
            recording = await looking
            tables = await asyncio.gather(*pages)
        finally:
            for page in pages:
                page.cancel()
            await asyncio.gather(*pages, return_exceptions=True)
    spans = (*box.spans(), *await _kept(recording, beside, access))
    joined = _joined(recording, tables, spans, beside, box)
    return msgspec.structs.replace(joined, links=links.columns(0.0))


@asynccontextmanager
async def probing(peers: Sequence[str], take: Take = lambda _rounds: None) -> AsyncIterator[Links]:
    """Round trips to the hosts of other daemons while the block runs; ``take`` gets each time around as it is made."""
    links, pulse = Links(), Pulse()
    jobs = [asyncio.create_task(pulse.run())]
    jobs.append(asyncio.create_task(Probing(peers, links, pulse, take, every_s=PROBE_EVERY_S).run()))
    try:
        yield links
    finally:
        for job in jobs:
            job.cancel()
        await asyncio.gather(*jobs, return_exceptions=True)


async def _listen(stack: AsyncExitStack, listen: str, box: SpanBox, looking: Coroutine[Any, Any, Recording]) -> None:
    if not listen:
        return
    try:
        await stack.enter_async_context(receive(listen, box))
    except UsageError:
        looking.close()
        raise


async def _exporter(url: str, access: Access, seconds: float, interval_s: float) -> SeriesTable:
    # Exporters renew their figures every second at most, DCGM's every 30 s by default.
    table = await watch_page(Address.parse(url), access, seconds, max(interval_s, 1.0))
    if gpu_of(table) is None and host_of(table) is None:
        raise not_hardware(url)
    return table


async def _kept(recording: Recording, beside: Companions, access: Access) -> tuple[SpanRow, ...]:
    times = recording.metrics.times
    if not len(times):
        return ()
    window = (beside.service, float(times[0]), float(np.max(times)), access)
    found: tuple[SpanRow, ...] = ()
    if beside.jaeger:
        found += await jaeger_spans(beside.jaeger, *window)
    if beside.zipkin:
        found += await zipkin_spans(beside.zipkin, *window)
    return found


def _joined(
    recording: Recording, tables: list[SeriesTable], spans: tuple[SpanRow, ...], beside: Companions, box: SpanBox
) -> Recording:
    gpu = next((seen for table in tables if (seen := gpu_of(table)) is not None), recording.gpu)
    host = next((known for table in tables if (known := host_of(table)) is not None), None)
    said = recording.warnings
    if beside.otlp_listen and not box.rows:
        text = _NO_SPANS.format(listen=beside.otlp_listen, exports=box.exports, refused=box.refused)
        said = (*said, InputWarning("no_spans", text))
    return msgspec.structs.replace(
        recording,
        gpu=gpu,
        host=recording.host or host,  # the server's own host tells its processes, too
        log=(*recording.log, *(line for table in tables for line in xid_lines(table))),
        spans=tuple(sorted((*recording.spans, *spans), key=lambda row: row.end)),
        warnings=said,
    )
