"""A Chrome trace cut into pieces of about half a megabyte at event boundaries, whatever state the file is in.

``EventReader`` walks head, array of events, tail, and again where documents were concatenated. It holds one piece at
a time. What it could not do in the ordinary way is counted in its ``findings``.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Callable, Iterator
from functools import partial
from itertools import compress, islice
from operator import itemgetter
from typing import Any

import msgspec

from whystall.errors import NotATrace

from .bytestream import ByteStream
from .chrome_events import DecodeCounts, decode_each, decode_event, decode_events
from .layout import KINDS, Layout, learn

_MAX_HEAD = 16 << 20  # of what stands around the events
_MAX_EVENT = 256 * 1024  # of text, where it must be looked for byte by byte
_MAX_PIECE = 4 << 20  # without an event boundary in this much, the slow scanner takes over
_ARRAY = re.compile(rb'"traceEvents"\s*:\s*\[')
_ROOT_ARRAY = re.compile(rb"(?:\xef\xbb\xbf)?\s*\[\s*(?=\{|\])")
_MAX_TRIES = 8  # boundaries tried as the end of a broken event: bounds the work that a hostile file can cause
_COUNTED_BYTES, _COUNTED_PIECES, _LONG_SEGMENT = 8 << 20, 8, 4096
_PHASE_KEY = b'"ph"'
_TOKEN = re.compile(rb'"(?:[^"\\]|\\.)*"|[{}]', re.DOTALL)
_BETWEEN = re.compile(rb"[\s,]*")
_BOUNDARY = re.compile(rb"\}\s*,\s*(?=\{)")
_EVENT_START = re.compile(rb'\{\s*"(?:ph|name|cat|ts|pid|tid|args|id|dur|s)"')


class Findings(msgspec.Struct):
    """What the file was like. ``header`` is the last document's head and tail fields."""

    documents: int = 0
    events: int = 0
    closed: bool = True  # the array of events was closed
    slow_pieces: int = 0
    lost_head: bool = False
    header: dict[str, Any] = {}
    headers: list[dict[str, Any]] = []
    counts: DecodeCounts = msgspec.field(default_factory=DecodeCounts)


class Batch(msgspec.Struct):
    """Decoded events of the ``document``-th document, of one ``kind`` of layout.KINDS or mixed ("").

    ``again`` decodes them once more with their times as text.
    """

    kind: str
    events: list[Any]
    document: int
    again: Callable[[], list[Any]]


class EventReader:
    """Iterate over a stream's events in :class:`Batch` es. ``exact`` may be set while iterating: see chrome_events."""

    def __init__(self, stream: ByteStream, wanted: dict[str, str] = KINDS) -> None:
        self.stream = stream
        self._wanted = wanted
        self.findings = Findings(headers=[])
        self.exact = False
        self._buffer = b""
        self._ended = False
        self._layout: Layout | None = None
        self._root_is_array = False
        self._skip = 1
        self._pieces = 0
        self._suspicious = False

    def batches(self) -> Iterator[Batch]:
        """All batches of all documents. Raises :class:`NotATrace` when there is no array of events."""
        while self._head():
            yield from self._events()
            self._tail()
        if not self.findings.documents:
            raise NotATrace(
                f"{self.stream.path.name} holds no traceEvents",
                "Give the .pt.trace.json(.gz) file of a PyTorch profiler.",
            )

    def _fill(self) -> bool:
        block = self.stream.read()
        self._buffer += block
        self._ended = not block
        return bool(block)

    # head and tail

    def _head(self) -> bool:
        """Find the array of events; False when nothing more comes."""
        searched = 0
        while True:
            match = _ROOT_ARRAY.match(self._buffer) or _ARRAY.search(self._buffer, max(searched - 64, 0))
            if match:
                self._root_is_array = match.re is _ROOT_ARRAY
                self._start_document(self._buffer[: match.start()])
                self._buffer = self._buffer[match.end() :]
                return True
            searched = len(self._buffer)
            if searched > _MAX_HEAD or not self._fill():
                return False

    def _start_document(self, head: bytes) -> None:
        fields = _object(head.strip().rstrip(b",") + b"}") if head.strip() else {}
        self.findings.lost_head |= fields is None
        self.findings.header = dict(fields or {})
        self.findings.headers.append(self.findings.header)
        self.findings.documents += 1
        self.findings.closed = False
        self._layout = None

    def _tail(self) -> None:
        """What follows the array up to the document's end; the rest stays for the next document."""
        if not self.findings.closed or self._root_is_array:
            return
        while True:
            text = b"{" + self._buffer.lstrip().removeprefix(b",")
            found, end = _first_object(text)
            if found is not None:
                self.findings.header.update(found)
                self._buffer = text[end:]
                return
            size = len(self._buffer)
            if size > _MAX_HEAD or _ARRAY.search(self._buffer):
                return
            while len(self._buffer) <= 2 * size and self._fill():
                pass
            if len(self._buffer) == size:
                return

    # events

    def _events(self) -> Iterator[Batch]:
        enough = self.stream.limits.block_bytes // 2
        while len(self._buffer) < enough and self._fill():
            pass
        self._layout = learn(self._buffer[:enough], self._wanted)
        while not self.findings.closed:
            size = len(self._buffer)
            if self._cuttable():
                yield from self._fast()
            elif self._layout is None or self._ended or size > _MAX_PIECE:
                yield from self._slow(final=self._ended)
            if self._ended and len(self._buffer) == size and not self.findings.closed:
                yield from self._slow(final=True)  # damage that only the last resort gets past
                if len(self._buffer) == size:
                    return
            if not self.findings.closed and not self._ended:
                self._fill()

    def _cuttable(self) -> bool:
        return self._layout is not None and self._layout.separator in self._buffer

    def _fast(self) -> Iterator[Batch]:
        """Split the buffer at the separator, keep its last, perhaps unfinished event, decode the kinds we use."""
        layout = self._layout
        assert layout is not None
        segments = self._buffer.split(layout.separator)
        last = segments.pop()
        segments[0] = segments[0].lstrip(b" \t\r\n,")
        if not segments[0].startswith(layout.opening) or not self._uniform(segments, last):
            # An event that begins with another key, or ends differently, hangs on to its neighbour.
            yield from self._slow(final=False, end=self._buffer.rfind(layout.separator) + 1)
            return
        self._buffer = layout.opening + last
        segments[0] = segments[0][len(layout.opening) :]
        self.findings.events += len(segments)
        yield from self._kept(segments, layout)

    def _uniform(self, segments: list[bytes], last: bytes) -> bool:
        """Whether every event of the buffer stands by itself after the split.

        Counting takes a seventh of the reader's time, and a writer does not change its layout half-way: the first 8 MB
        are counted, then every eighth piece and those with a long segment, and all from the first surprise on.
        """
        self._pieces += 1
        trusted = not self._suspicious and self.stream.bytes_out > _COUNTED_BYTES and self._pieces % _COUNTED_PIECES
        if trusted and max(map(len, segments)) < _LONG_SEGMENT:
            return True
        same = self._buffer.count(_PHASE_KEY) - last.count(_PHASE_KEY) == len(segments) + 1
        self._suspicious |= not same
        return same

    def _kept(self, segments: list[bytes], layout: Layout) -> Iterator[Batch]:
        keys = map(itemgetter(slice(layout.key_bytes)), segments)
        kinds = list(map(layout.kinds.get, keys))
        groups: dict[str, list[bytes]] = defaultdict(list)
        for kind, segment in zip(filter(None, kinds), compress(segments, kinds), strict=True):
            groups[kind].append(segment)
        for kind, texts in groups.items():
            yield self._batch(kind, texts, layout)

    def _batch(self, kind: str, texts: list[bytes], layout: Layout) -> Batch:
        document = b"[" + layout.opening + layout.separator.join(texts) + b"}]"
        events = decode_events(document, kind, self.exact)
        if events is None:
            return self._each([layout.opening + text + b"}" for text in texts])
        return Batch(kind, events, self.findings.documents - 1, partial(_valid_events, document, kind))

    def _each(self, texts: list[bytes]) -> Batch:
        events = decode_each(texts, self.exact, self.findings.counts)
        again = partial(decode_each, texts, True, DecodeCounts())
        return Batch("", events, self.findings.documents - 1, again)

    def _slow(self, final: bool, end: int | None = None) -> Iterator[Batch]:
        """Decode every event of the buffer (or of what lies before ``end``), one by one where it must be."""
        self.findings.slow_pieces += 1
        batch = self._whole(end) or self._scan(final)
        self.findings.events += len(batch.events)
        if batch.events:
            yield batch

    def _whole(self, end: int | None) -> Batch | None:
        """The buffer up to its last boundary as one JSON array; None when that is not valid."""
        if end is None:
            near = max(self._buffer.rfind(b"{") - _MAX_EVENT, 0)
            ends = [found.start() + 1 for found in _BOUNDARY.finditer(self._buffer, near)]
            if not ends:
                return None
            end = ends[-1]
        document = b"[" + self._buffer[:end].lstrip(b" \t\r\n,") + b"]"
        events = decode_events(document, "", self.exact)
        if events is None:
            return None
        self._buffer = self._buffer[end:]
        return Batch("", events, self.findings.documents - 1, partial(_valid_events, document, ""))

    def _scan(self, final: bool) -> Batch:
        """Event by event; stops at the array's end, or before an event that is not there in full."""
        texts: list[bytes] = []
        at = 0
        text = self._buffer
        while True:
            at = _BETWEEN.match(text, at).end()  # type: ignore[union-attr]
            if text[at : at + 1] == b"]":
                self.findings.closed = True
                at += 1
                break
            if at >= len(text):
                break
            event, end = self._next(text, at, final)
            if end < 0:
                break
            if event:
                texts.append(event)
            at = end
        self._buffer = text[at:]
        return self._each(texts)

    def _next(self, text: bytes, at: int, final: bool) -> tuple[bytes, int]:
        """The text of the event at ``at`` (empty when unreadable) and its end, -1 when more is needed."""
        end = _object_end(text, at) if text[at : at + 1] == b"{" else -1
        nested = _EVENT_START.search(text, at + 1, end) if end > 0 else None
        if end > 0 and (nested is None or _is_valid(text[at:end])):
            self._skip = 1
            return text[at:end], end
        # An unescaped quote makes the scanner run on. The next boundary that leaves a readable event is its end.
        stops = [found.start() + 1 for found in islice(_BOUNDARY.finditer(text, at, at + _MAX_EVENT), _MAX_TRIES)]
        for stop in stops:
            if decode_event(text[at:stop], self.exact, DecodeCounts()) is not None:
                return text[at:stop], stop
        if len(stops) == _MAX_TRIES:
            self.findings.counts.reject(text[at : stops[0]])
            return b"", stops[0]
        return self._give_up(text, at, end, final)

    def _give_up(self, text: bytes, at: int, end: int, final: bool) -> tuple[bytes, int]:
        if end > 0:
            return text[at:end], end
        if not final and len(text) - at < _MAX_PIECE:
            return b"", -1
        # Where nothing can be read the way to the next try doubles, or a hostile file would be scanned without end.
        self._skip = min(2 * self._skip, _MAX_EVENT)
        start = _EVENT_START.search(text, at + self._skip)
        if start is None:
            return b"", -1
        self.findings.counts.reject(text[at : start.start()])
        return b"", start.start()


def _object_end(text: bytes, at: int) -> int:
    """Just behind the object that starts at ``at``, -1 when it does not end."""
    depth = 0
    for token in _TOKEN.finditer(text, at, at + _MAX_EVENT):
        mark = token.group()
        if mark == b"{":
            depth += 1
        elif mark == b"}":
            depth -= 1
            if depth == 0:
                return token.end()
    return -1


def _valid_events(document: bytes, kind: str) -> list[Any]:
    """Events with their times as text, of a document that was valid without."""
    return decode_events(document, kind, exact=True) or []


def _is_valid(event: bytes) -> bool:
    return decode_events(b"[" + event + b"]", "", exact=True) is not None


def _object(text: bytes) -> dict[str, Any] | None:
    found, _ = _first_object(text)
    return found


def _first_object(text: bytes) -> tuple[dict[str, Any] | None, int]:
    """The JSON object at the start of ``text`` and where it ends."""
    try:
        decoded = text.decode("utf-8", "surrogateescape")
        found, end = json.JSONDecoder(strict=False).raw_decode(decoded)
    except (ValueError, RecursionError):
        return None, 0
    if not isinstance(found, dict):
        return None, 0
    return found, len(decoded[:end].encode("utf-8", "surrogateescape"))
