"""The pages of a metrics file: ``# scrape <unix time>`` before each, or ``# scrape <time> failed <Error>``.

A time of another recorder may be in ms, µs or ns, or ISO 8601 with its zone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime

import msgspec

from whystall.sources.exposition import require_size

_MARKER = b"# scrape "
_MAX_ERROR = 200
_BOM = b"\xef\xbb\xbf"
_UNITS = (
    (1e11, 1e-3),
    (1e14, 1e-6),
    (1e17, 1e-9),
)  # from these sizes on a time is in ms, µs, ns: seconds reach year 5138
_LATEST = 1e11


class Scrape(msgspec.Struct, frozen=True):
    """One scrape. ``t`` is None in a file without markers, which is one page. ``whole`` is False where it was cut.

    No ``page``, ``error`` or ``t``: what stands before the first marker, as the rest of a page in a file that was rotated.
    """

    t: float | None
    page: bytes
    error: str = ""
    whole: bool = True


def scrapes(chunks: Iterable[bytes]) -> Iterator[Scrape]:
    """Cuts the pieces of a file into its scrapes; only one page is held at a time.

    Raises :class:`~whystall.errors.TooLarge` as soon as a page is, since one that does not end would fill the memory.
    """
    waiting = bytearray()
    for number, chunk in enumerate(chunks):
        if not number:
            chunk = chunk.removeprefix(_BOM)
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
        text = bytes(waiting[start : at + 1])
        if text.startswith(_MARKER) or _has_samples(text):
            yield _scrape(text, last=False)
        start = at + 1
        at = waiting.find(b"\n" + _MARKER, start)
    del waiting[:start]


def _scrape(text: bytes, last: bool) -> Scrape:
    if not text.startswith(_MARKER):
        return Scrape(None, text, whole=text.endswith(b"\n")) if last else Scrape(None, b"", whole=False)
    line, _, page = text.partition(b"\n")
    time, _, said = line[len(_MARKER) :].strip().decode("utf-8", "replace").partition(" ")
    t = _time(time)
    if t is None:
        return Scrape(None, b"", error="a scrape line whose time is none: " + time[:40])
    if said.startswith("failed"):
        return Scrape(t, b"", error=said.removeprefix("failed").strip()[:_MAX_ERROR] or "unknown")
    if not page.strip():
        return Scrape(t, b"", error="" if last else "an empty page", whole=not last)
    return Scrape(t, page, whole=not last or text.endswith(b"\n"))


def _has_samples(text: bytes) -> bool:
    return any(line.strip() and not line.startswith(b"#") for line in text.splitlines())


def _time(text: str) -> float | None:
    """Unix seconds; None where the text is no time that a calendar has."""
    try:
        t = float(text)
    except ValueError:
        return _iso(text)
    scale = next((scale for least, scale in reversed(_UNITS) if t >= least), 1.0)
    return t * scale if 0 < t * scale < _LATEST else None


def _iso(text: str) -> float | None:
    try:
        moment = datetime.fromisoformat(text)
        return moment.timestamp() if moment.tzinfo else None
    except (ValueError, OverflowError):
        return None
