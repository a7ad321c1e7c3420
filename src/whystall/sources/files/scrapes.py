"""The pages of a metrics file: ``# scrape <unix time>`` before each, or ``# scrape <time> failed <Error>``."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator

import msgspec

from whystall.sources.exposition import require_size

_MARKER = b"# scrape "
_MAX_ERROR = 200


class Scrape(msgspec.Struct, frozen=True):
    """One scrape. ``t`` is None in a file without markers, which is one page. ``whole`` is False where it was cut."""

    t: float | None
    page: bytes
    error: str = ""
    whole: bool = True


def scrapes(chunks: Iterable[bytes]) -> Iterator[Scrape]:
    """Cuts the pieces of a file into its scrapes; only one page is held at a time.

    Raises :class:`~whystall.errors.TooLarge` as soon as a page is, since one that does not end would fill the memory.
    """
    waiting = bytearray()
    for chunk in chunks:
        searched = max(0, len(waiting) - len(_MARKER))
        waiting += chunk
        yield from _complete(waiting, searched)
        require_size(len(waiting))
    if waiting.strip():
        yield _scrape(bytes(waiting), last=True)


def _complete(waiting: bytearray, searched: int) -> Iterator[Scrape]:
    """The scrapes that another one follows; they are taken out of ``waiting``."""
    start = 0
    at = waiting.find(b"\n" + _MARKER, searched)
    while at >= 0:
        if waiting[start : at + 1].strip():
            yield _scrape(bytes(waiting[start : at + 1]), last=False)
        start = at + 1
        at = waiting.find(b"\n" + _MARKER, start)
    del waiting[:start]


def _scrape(text: bytes, last: bool) -> Scrape:
    if not text.startswith(_MARKER):
        return Scrape(None, text, whole=not last or text.endswith(b"\n"))
    line, _, page = text.partition(b"\n")
    time, _, said = line[len(_MARKER) :].strip().decode("utf-8", "replace").partition(" ")
    t = _time(time)
    if t is None:
        return Scrape(None, b"", error="a scrape line without a time")
    if said.startswith("failed"):
        return Scrape(t, b"", error=said.removeprefix("failed").strip()[:_MAX_ERROR] or "unknown")
    if not page.strip():
        return Scrape(t, b"", error="" if last else "an empty page", whole=not last)
    return Scrape(t, page, whole=not last or text.endswith(b"\n"))


def _time(text: str) -> float | None:
    try:
        t = float(text)
    except ValueError:
        return None
    return t if math.isfinite(t) and t > 0 else None
