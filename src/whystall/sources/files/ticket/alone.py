"""A recording of a server of which no page is known: lines of its log, and comparisons that somebody made."""

from __future__ import annotations

import re
from collections.abc import Iterator

from whystall.model.recording import Contrast, FailedScrape, LogLine, Recording, SeriesTable
from whystall.model.target import Target

from .page import START
from .statements import Statements

_SECONDS = 60.0
_FAULT = re.compile(r"NVRM: Xid|OutOfMemoryError")


def decided(stated: Statements) -> bool:
    """Whether a line is stated that names what happened by itself: a GPU's fault, an allocation that failed."""
    return any(_FAULT.search(line) for line in lines(stated))


def lines(stated: Statements) -> Iterator[str]:
    """What a log says or would say: its lines, and failed allocations and collections whose figures are stated."""
    yield from stated.lines
    asked, free = stated.common.get("allocated"), stated.common.get("free_memory")
    if asked and free and asked.low > free.high:
        mib = (asked.low / 2**20, free.high / 2**20)
        yield f"torch.OutOfMemoryError: CUDA out of memory. Tried to allocate {mib[0]:.2f} MiB, {mib[1]:.2f} MiB is free"
    collected = stated.common.get("gc")
    if collected:
        yield f"GC took {1e3 * collected.high:.3f}ms to complete."


def without_page(
    stated: Statements, contrasts: tuple[Contrast, ...], argv: tuple[str, ...], name: str, version: str
) -> Recording:
    """The recording of a server of which only lines and comparisons are known."""
    no_page = tuple(FailedScrape(START + t, "NoPage: the ticket states none") for t in (0.0, _SECONDS))
    told = tuple(LogLine(START + _SECONDS / 2, "ERROR", "EngineCore", None, text) for text in lines(stated))
    table = SeriesTable(SeriesTable.empty().times, (), SeriesTable.empty().values, failed=no_page)
    return Recording(Target(name, "recording"), table, log=told, version=version, argv=argv, contrasts=contrasts)
