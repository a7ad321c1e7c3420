"""What kind of file it is, from its content alone: names and endings lie."""

from __future__ import annotations

import re
from pathlib import Path

from whystall.errors import NotATrace
from whystall.sources.files.foreign import packed_with

from .bytestream import ByteStream, ReadLimits

_LOOK_BYTES = 256 * 1024
_ITERATION = re.compile(rb"Iteration\(\d+\)|Iteration \d+:? .*(context|generation)|Engine \d+.{0,40}[Ii]teration")
_NCU = re.compile(rb'"Kernel Name"|==PROF==|Kernel Name,')

KNOWN = (
    "PyTorch profiler JSON, Nsight Systems SQLite, Nsight Compute CSV or .ncu-rep, cProfile, speedscope, OpenTelemetry "
    "JSON or protobuf, Jaeger JSON, Zipkin JSON, a vLLM log with iteration lines, Ray's timeline of tasks"
)


def recognise(path: Path) -> str:
    """One of ``pytorch nsys ncu ncu_report pstats speedscope otlp otlp_protobuf jaeger zipkin iterations ray_tasks``.

    Raises :class:`NotATrace` for anything else, with what to do for files that need a conversion.
    """
    with ByteStream(path, ReadLimits(block_bytes=_LOOK_BYTES)) as stream:
        text = stream.read()
    found = _binary(text) or _json(text.lstrip(b"\xef\xbb\xbf \t\r\n")) or _lines(text) or _protobuf(text)
    if found == "nsys_report":
        raise NotATrace(
            f"{path.name} is an Nsight Systems report, which only nsys can read",
            f"Run: nsys export --type sqlite {path.name}",
        )
    if not found:
        _say_what_it_is(path.name, text)
        raise NotATrace(f"{path.name} is in no format known here", f"Known: {KNOWN}.")
    return found


def _say_what_it_is(name: str, text: bytes) -> None:
    if not text:
        raise NotATrace(f"{name} is empty", "The profiler may still be writing, or was stopped before it wrote.")
    if (tool := packed_with(text)) is not None:
        raise NotATrace(f"{name} is packed with {tool[0]}", f"Unpack it first ({tool[1]}); only gzip is read as it is.")
    if text.startswith((b"# scrape ", b"# HELP ")):
        raise NotATrace(f"{name} holds metrics, not a profile", "Run: whystall diagnose FILE")


def _binary(text: bytes) -> str | None:
    if text.startswith(b"SQLite format 3\0"):
        return "nsys"
    if text.startswith(b"NVR\0"):
        return "ncu_report"
    if text.startswith((b"NSYS", b"QDSTRM")) or b"NVIDIA Nsight Systems" in text[:4096]:
        return "nsys_report"
    if text[:1] == b"\xfb" or (text[:1] == b"{" and text[1:2] in (b"(", b")", b"\xa9")):
        return "pstats"
    return None


def _json(text: bytes) -> str | None:
    if text[:1] not in (b"{", b"["):
        return None
    for needle, kind in (
        (b'"task:execute"', "ray_tasks"),
        (b'"traceEvents"', "pytorch"),
        (b'"resourceSpans"', "otlp"),
        (b"speedscope.app", "speedscope"),
        (b'"operationName"', "jaeger"),
        (b'"localEndpoint"', "zipkin"),
    ):
        if needle in text:
            return kind
    if text[:1] == b"[" and b'"traceId"' in text:
        return "zipkin"
    if text[:1] == b"[" and b'"ph"' in text:
        return "pytorch"
    return "pytorch" if b'"deviceProperties"' in text or b'"schemaVersion"' in text else None


def _lines(text: bytes) -> str | None:
    if _NCU.search(text):
        return "ncu"
    return "iterations" if _ITERATION.search(text) else None


def _protobuf(text: bytes) -> str | None:
    """A message whose first field is a length-delimited ResourceSpans, and that our schema reads."""
    if text[:1] != b"\n":
        return None
    return "otlp_protobuf" if b"service.name" in text or b"telemetry.sdk" in text or b"llm_request" in text else None
