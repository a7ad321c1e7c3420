"""Files that people give for a recording and that are something else: told by how they begin, with what reads them."""

from __future__ import annotations

import re

from whystall.errors import NotMetrics
from whystall.sources.exposition import is_json

LOOK_BYTES = 64 * 1024
_PACKED = (
    (b"\xfd7zXZ\0", "xz", "xz -d"),
    (b"\x28\xb5\x2f\xfd", "zstd", "zstd -d"),
    (b"BZh", "bzip2", "bunzip2"),
    (b"PK\x03\x04", "zip", "unzip"),
)
_LOG = re.compile(rb"(?m)^(?:\([^)\n]{1,60}\) )?(?:INFO|WARNING|ERROR|DEBUG) \d\d-\d\d \d\d:\d\d:\d\d")
_OURS = re.compile(rb'"schema":\s*"whystall\.([a-z_]{1,40})/\d')
_PROFILE = re.compile(
    rb'"traceEvents"|"schemaVersion"|"deviceProperties"|"resourceSpans"|speedscope|"operationName"|"traceId"|"Kernel Name"'
)
_BENCH = re.compile(rb'"request_throughput"|"mean_ttft_ms"|"benchmarks":')
_PROFILE_HINT = (
    "whystall trace FILE says where its time went; whystall diagnose TARGET --trace FILE adds it to a diagnosis."
)
_RECORD = "Record with: whystall record http://HOST:8000 -o FOLDER --for 60s"


def require_ours(name: str, start: bytes) -> None:
    """Raises :class:`NotMetrics` where ``start``, the first bytes of the file ``name``, unpacked, is no metrics page's.

    What is merely wrong is left to the parser, which names the line.
    """
    found = _packed(start) or _binary(start) or _text(start)
    if found is not None:
        what, hint = found
        raise NotMetrics(f"{name} is {what}, not a recording's metrics", hint)


def packed_with(start: bytes) -> tuple[str, str] | None:
    """The format that a file is packed in and what unpacks it; None where it is not packed, or with gzip."""
    return next(((what, tool) for magic, what, tool in _PACKED if start.startswith(magic)), None)


def _packed(start: bytes) -> tuple[str, str] | None:
    if (found := packed_with(start)) is None:
        return None
    return f"packed with {found[0]}", f"Unpack it first ({found[1]}); only gzip is read as it is."


def _binary(start: bytes) -> tuple[str, str] | None:
    if start.startswith(b"SQLite format 3\0"):
        hint = "An export of Nsight Systems: whystall trace FILE. Kept cases: whystall cases list --store FILE."
        return "a SQLite database", hint
    return ("a binary file", _RECORD) if b"\0" in start else None


def _text(start: bytes) -> tuple[str, str] | None:
    json = is_json(start)
    if json and (ours := _OURS.search(start)):
        return f"an answer of whystall ({ours[1].decode()})", "Give the recording or the server that it was made from."
    if json and _PROFILE.search(start):
        return "a profile or spans", _PROFILE_HINT
    if json and _BENCH.search(start):
        return "a benchmark's result", "Two of them are compared by: whystall trial --a-result FILE --b-result FILE"
    if _LOG.match(start):
        return "a server's log", "Give it beside the server or the recording: whystall diagnose TARGET --log FILE"
    return None
