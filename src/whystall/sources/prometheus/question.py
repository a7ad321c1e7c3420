"""What is asked of a Prometheus: which server, which series, up to when."""

from __future__ import annotations

import re
from datetime import datetime
from urllib.parse import parse_qsl, urlsplit

import msgspec

from whystall.errors import UsageError
from whystall.sources.live.address import Address

SCHEMES = ("prometheus+http", "prometheus+https")
_LABEL = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]*\Z")
_HINT = 'write it as prometheus+http://host:9090?job=vllm, or …?query={job="vllm",namespace="x"}'
# Engines' own names, with the prefix that Ray puts before them; the API process; the fields of DCGM.
_NAMES = (
    r"(ray_)?(vllm|sglang)[:_].+|process_.+|python_gc_.+|python_info|http_requests_total|"
    r"http_request_duration_(highr_)?seconds_(bucket|sum|count)|up|DCGM_FI_.+"
)


class Question(msgspec.Struct, frozen=True):
    """``matchers`` is the inside of a selector's braces (may be empty); ``end`` unix seconds, None for now."""

    address: Address
    matchers: str = ""
    end: float | None = None

    def selector(self) -> str:
        """PromQL of every series that is read: when a series was made, a ninth of a page, says nothing that is needed."""
        inside = f'__name__=~"{_NAMES}",__name__!~".+_created"' + (f",{self.matchers}" if self.matchers else "")
        return "{" + inside + "}"


def is_question(target: str) -> bool:
    """Whether a target names a Prometheus."""
    return target.partition("://")[0].lower() in SCHEMES


def parse_question(target: str) -> Question:
    """``prometheus+http(s)://host:9090[/prefix]?label=value&…``, ``?query={…}``, with ``&end=TIME``. Raises UsageError."""
    try:
        parts = urlsplit(target)
        given = parse_qsl(parts.query, keep_blank_values=True, strict_parsing=bool(parts.query))
    except ValueError as error:
        raise UsageError(f"the Prometheus target cannot be read: {error}", _HINT) from None
    address = Address.parse(parts._replace(scheme=parts.scheme.removeprefix("prometheus+"), query="").geturl())
    end = next((value for name, value in given if name == "end"), "")
    inside = [_inside(value) for name, value in given if name in ("query", "match[]")]
    inside += [_matcher(name, value) for name, value in given if name not in ("query", "match[]", "end")]
    return Question(address, ",".join(part for part in inside if part), _moment(end) if end else None)


def _inside(query: str) -> str:
    """The matchers of a plain selector; a name before the braces is one, too."""
    found = re.fullmatch(r"\s*([a-zA-Z_:][a-zA-Z0-9_:]*)?\s*(?:\{(.*)\})?\s*", query, re.DOTALL)
    if found is None or not query.strip():
        raise UsageError(f"{query[:80]!r} is not a selector of series; functions and operators are not taken", _HINT)
    return (found[2] or "").strip().rstrip(",")


def _matcher(name: str, value: str) -> str:
    if not _LABEL.match(name):
        raise UsageError(f"{name[:40]!r} is no name of a label", _HINT)
    quoted = value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'{name}="{quoted}"'


def _moment(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        pass
    try:
        return datetime.fromisoformat(text).timestamp()
    except ValueError:
        raise UsageError(f"end={text[:40]!r} is no time", "give unix seconds, or 2026-11-30T03:00:00Z") from None
