"""A server's log without names: what the diagnosis reads stays, scrubbed; the text of every other line goes."""

from __future__ import annotations

import json
import re
from typing import Any

from whystall.model.recording import LogLine
from whystall.sources.dialects import vllm_log
from whystall.sources.log import from_its_start, read_events, read_iterations, read_stats

from .scrubber import Scrubber

REMOVED = "[text removed]"
# Messages that carry a request's own text or id; in their place stands the least that is still the same event.
_CARRIERS = {
    "request_received": "Received request x",
    "request_aborted": "Aborted request(s) x.",
    "engine_dump": None,
    "prompt_too_long": None,
    "preemption": None,
}
_CONFIGURATION = frozenset(("non_default_args", "engine_config"))
_COMMAND = re.compile(r"\s*(?:\S*/)?(?:vllm serve|python[\d.]* -m vllm)\b")
_JSON_KEPT = frozenset(
    ("timestamp", "time", "asctime", "@timestamp", "ts", "created", "datetime", "level", "levelname")
)
_JSON_KEPT_TOO = frozenset(("severity", "pid", "process_id", "processId", "process_name", "processName", "process"))
_JSON_TEXT = ("message", "msg", "text", "event")


class LogRedactor:
    """Line by line; keeps time, process and level of every line of a known form."""

    def __init__(self, scrubber: Scrubber) -> None:
        self._scrubber = scrubber

    def line(self, line: str) -> str | None:
        """The line without names; None where nothing of it may stay."""
        line = line.rstrip("\r")
        if line.startswith("{"):
            return self._json(line)
        stamp = _matched(vllm_log.STAMP, line)
        rest = from_its_start(line[len(stamp) :])  # the name of a pod or service before it goes
        owner = _matched(vllm_log.PROCESS, rest)
        rest = rest[len(owner) :]
        start = stamp + self._scrubber.names.replace(owner)
        for form in (vllm_log.LINE, vllm_log.UVICORN):
            if match := form.match(rest):
                known = self._known(match["text"], match["level"])
                return start + self._scrubber.names.replace(rest[: match.start("text")]) + (known or REMOVED)
        known = self._known(rest, "")
        return None if known is None else start + known

    def _known(self, text: str, level: str) -> str | None:
        """The message, scrubbed, where a diagnosis reads it."""
        line = LogLine(0.0, level, "", None, text)
        if read_stats([line]) or read_iterations([line]) is not None:
            return text
        if _COMMAND.match(text):
            return self._scrubber.text(text)
        events = read_events([line])
        if not events:
            return None
        if events[0].id in _CARRIERS:
            return _CARRIERS[events[0].id] or _least(events[0].id, text)
        return self._scrubber.text(text) if events[0].id in _CONFIGURATION else self._scrubber.message(text)

    def _json(self, line: str) -> str | None:
        try:
            fields = json.loads(line)
        except (ValueError, RecursionError):
            return None
        if not isinstance(fields, dict):
            return None
        kept: dict[str, Any] = {
            key: self._scrubber.names.replace(value) if isinstance(value, str) else value
            for key, value in fields.items()
            if key in _JSON_KEPT | _JSON_KEPT_TOO and isinstance(value, str | int | float)
        }
        name = next((key for key in _JSON_TEXT if isinstance(fields.get(key), str)), None)
        if name is not None:
            kept[name] = self._known(fields[name], str(kept.get("level", ""))) or REMOVED
        return json.dumps(kept)


def _matched(pattern: re.Pattern[str], text: str) -> str:
    match = pattern.match(text)
    return match[0] if match else ""


def _least(event: str, text: str) -> str:
    """The words by which a line is known, and its number."""
    for pattern in vllm_log.EVENTS:
        if pattern.id == event and pattern.words in text:
            number = pattern.number.search(text) if pattern.number else None
            words = pattern.words
            return words if number is None or number[0] in words else f"{words} {number[0]}"
    return REMOVED
