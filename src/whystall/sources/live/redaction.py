"""Everything that a recording keeps, without what names someone."""

from __future__ import annotations

import getpass
import json
import re
import socket
from typing import Any

import msgspec

from whystall.model.recording import SpanRow
from whystall.sources.links import LinkRow

from .address import Address
from .facts import ServerFacts
from .log_redaction import LogRedactor
from .pseudonyms import Pseudonyms
from .scrubber import PLAIN, Scrubber, kind_of

# Labels whose values are words of the field. Every other value that is not a number becomes a pseudonym.
_LABEL_WORDS = """le quantile engine reason source finished_reason generation implementation major minor patchlevel
    version method status position stage sleep_state mode outcome request_type operation tier transfer_type state
    type cause"""
_KEPT_LABELS = frozenset(_LABEL_WORDS.split())
_CONFIG = "cache_config_info"
_ROUTE_LABELS = frozenset(("handler", "path", "route"))
_LABEL = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\]|\\.)*)"')
_MAX_CACHED = 200_000


class Redactor:
    """Stable pseudonyms in pages, log, configuration and arguments. Numbers, and so the diagnosis, stay the same.

    Values of labels and environment variables are kept only where they are known words of the field or numbers, the text
    of log lines only where the diagnosis reads it.
    """

    def __init__(self, address: Address | None = None, secrets: tuple[str, ...] = ()) -> None:
        self._names = Pseudonyms()
        self._scrubber = Scrubber(self._names)
        self._log = LogRedactor(self._scrubber)
        self._series: dict[str, str] = {}
        for secret in secrets:
            self._names.learn(secret, "secret")
        hosts = [socket.gethostname(), address.host if address else ""]
        for host in hosts:
            if host and host not in ("localhost", "127.0.0.1", "::1"):
                self._names.learn(host, "host")
        self._names.learn(_user(), "user")

    def facts(self, facts: ServerFacts) -> ServerFacts:
        return ServerFacts(self._json(facts.version), self._json(facts.models), self._json(facts.server_info))

    def span(self, row: SpanRow) -> SpanRow:
        """A request span; each name by the same stand-in everywhere."""
        kinds = {"request_id": "request", "adapter": "adapter", "tenant": "tenant"}
        names = {field: self._names.of(text, kind) for field, kind in kinds.items() if (text := getattr(row, field))}
        return msgspec.structs.replace(row, **names)

    def link(self, row: LinkRow) -> LinkRow:
        """A round of probes; each host by the same stand-in everywhere."""
        host, colon, port = row.peer.rpartition(":")
        return msgspec.structs.replace(row, peer=f"{self._names.of(host or row.peer, 'host')}{colon}{port}")

    def argv(self, argv: tuple[str, ...]) -> tuple[str, ...]:
        """Arguments, a flag's value by the flag's name; the model stands after ``serve``."""
        found: list[str] = []
        before = ""
        for word in argv:
            flag, equals, value = word.partition("=")
            if word.startswith("--") and equals:
                found.append(f"{flag}={self._scrubber.valued(flag[2:], value)}")
            elif before == "serve" and not word.startswith("-"):
                found.append(self._names.learn(word, "model"))
            else:
                found.append(self._scrubber.valued(before.removeprefix("--") if before[:2] == "--" else "", word))
            before = word
        return tuple(found)

    def page(self, body: bytes) -> bytes:
        """A metrics page without its HELP lines and other comments but TYPE."""
        lines = body.decode("utf-8", "replace").split("\n")
        kept = (line for line in lines if not line.startswith("#") or line.startswith("# TYPE "))
        return "\n".join(map(self._sample, kept)).encode()

    def _sample(self, line: str) -> str:
        head, brace, tail = line.rpartition("}")
        if not brace or line.startswith("#"):
            return line
        if "#" in tail or " # " in head:  # an exemplar names a trace
            return self._sample(line.partition(" # ")[0])
        known = self._series.get(head)
        if known is None:
            name = head.partition("{")[0]
            known = _LABEL.sub(lambda match: f'{match[1]}="{self._label(name, match[1], match[2])}"', head)
            if len(self._series) < _MAX_CACHED:
                self._series[head] = known
        return known + brace + tail

    def _label(self, metric: str, label: str, value: str) -> str:
        if label in _KEPT_LABELS or PLAIN.fullmatch(value):
            return value
        kind = kind_of(label)
        if kind is not None:
            return self._names.learn(value, kind)
        if metric.endswith(_CONFIG) and re.fullmatch(r"[\w.:-]{1,40}", value):
            return self._names.replace(value)
        return self._scrubber.text(value) if label in _ROUTE_LABELS else self._names.of(value, "label")

    def log_line(self, line: str) -> str | None:
        """A line without names; None where nothing of it may stay."""
        return self._log.line(line)

    def _json(self, text: str) -> str:
        if not text:
            return ""
        try:
            document = json.loads(text)
        except ValueError:
            return self._scrubber.text(text)
        return json.dumps(self._tree("", document))

    def _tree(self, key: str, value: Any, environment: bool = False) -> Any:
        if isinstance(value, dict):
            inside = environment or key.endswith("env")
            return {self._key(k): self._tree(k, v, inside) for k, v in value.items()}
        if isinstance(value, list):
            return [self._tree(key, item, environment) for item in value]
        if not isinstance(value, str):
            return value
        if key == "id":
            return self._names.learn(value, "model")
        if environment and not re.fullmatch(r"[\d.,]*|[A-Za-z_]{1,24}|True|False|None", value):
            kind = kind_of(key)
            return self._names.learn(value, kind) if kind else self._names.of(value, "value")
        return self._scrubber.valued(key, value)

    def _key(self, key: str) -> str:
        return self._names.replace(key) if re.fullmatch(r"\w{1,64}", key) else self._scrubber.text(key)


def _user() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError):  # a container's user without a name
        return "user"
