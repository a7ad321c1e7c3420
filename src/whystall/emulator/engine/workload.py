"""Loads: who sends what and when. Everything is drawn from one seed, so two runs of a load are the same."""

from __future__ import annotations

import csv
import gzip
import json
import math
import random
import zlib
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from itertools import accumulate, count
from pathlib import Path
from typing import Any, TextIO

import msgspec

from whystall.errors import InputError, UsageError

from .content import Content, HashedContent, OwnContent
from .engine import Engine
from .request import Request

_MAX_TRACE_ROWS = 2_000_000
_MAX_LINE = 1_000_000  # characters: a Mooncake prompt of a million tokens has 2,000 hashes
RETRY_S = 1.0  # until a client whose request was refused sends again


class LengthClass(msgspec.Struct, frozen=True):
    """A kind of request: its ``share`` of the load and ranges of tokens, both ends included.

    ``shared_prefix`` tokens at the start are the same in all requests of the class with the same ``prefix``.
    """

    share: float
    prompt: tuple[int, int]
    output: tuple[int, int]
    shared_prefix: int = 0
    prefix: str = ""
    priority: int = 0


class Phase(msgspec.Struct, frozen=True, kw_only=True):
    """``seconds`` of one way to send: open loop (``rate`` per second) or closed loop (``clients`` that wait).

    Open: Poisson arrivals, in groups of ``burst`` at once. Closed: each client sends, waits for the whole answer and
    thinks for ``think_s``. ``cut``: at the phase's end the clients go away without their answers.
    """

    seconds: float
    mix: tuple[LengthClass, ...]
    rate: float = 0.0
    burst: int = 1
    clients: int = 0
    think_s: float = 0.0
    cut: bool = True

    def check(self) -> Phase:
        if self.seconds <= 0 or not self.mix or (self.rate <= 0) == (self.clients <= 0):
            raise UsageError(
                "a phase needs a length in seconds, a mix of requests, and either a rate or clients",
                'for example: {"seconds": 30, "rate": 4, "mix": [{"share": 1, "prompt": [500, 500], "output": [100, 100]}]}',
            )
        return self


class Arrival(msgspec.Struct, frozen=True):
    """One request of a trace: seconds after its start, lengths, and what its prompt shares with others."""

    t: float
    prompt_tokens: int
    output_tokens: int
    hash_ids: tuple[int, ...] = ()
    prefix: str = ""
    prefix_tokens: int = 0
    priority: int = 0

    def content(self) -> Content:
        if self.hash_ids:
            return HashedContent(self.hash_ids)
        return OwnContent(self.prefix or None, self.prefix_tokens)


class Load:
    """Drives engines with phases or a trace. One load may feed several replicas: ``choose`` picks one by request."""

    def __init__(self, seed: int = 1) -> None:
        self.random = random.Random(seed)
        self.numbers = count(1)
        self.sent: list[Request] = []
        self._clients: dict[Request, _Client] = {}
        self._mix: Sequence[LengthClass] = ()
        self._weights: list[float] = []

    def play(self, engine: Engine, phases: Sequence[Phase]) -> None:
        """Run ``engine`` from now through all phases."""
        engine.on_finish, engine.on_refused = self._answered, self._refused
        start = engine.now
        for phase in phases:
            phase.check()
            if phase.clients:
                self._closed(engine, phase, start)
            else:
                self.trace(engine, self._open(phase), start)
                engine.advance(start + phase.seconds)
            start += phase.seconds

    def trace(self, engine: Engine, arrivals: Iterable[Arrival], start: float) -> None:
        """Submit ``arrivals``, their times counted from ``start``; the caller advances the engine."""
        for a in arrivals:
            self._submit(engine, a, start + a.t)

    def _submit(self, engine: Engine, a: Arrival, t: float) -> Request:
        room = engine.options.max_model_len - 1
        prompt = min(a.prompt_tokens, room)
        request = Request(next(self.numbers), prompt, a.output_tokens, a.content(), arrival=t, priority=a.priority)
        self.sent.append(request)
        engine.submit(request)
        return request

    def _open(self, phase: Phase) -> Iterator[Arrival]:
        t = 0.0
        while True:
            for _ in range(phase.burst):
                yield self.draw(phase.mix, t)
            t += self.random.expovariate(phase.rate / phase.burst)
            if t >= phase.seconds:
                return

    def draw(self, mix: Sequence[LengthClass], t: float) -> Arrival:
        """A request of ``mix`` that arrives at ``t``."""
        chosen = self.random.choices(mix, cum_weights=self._summed(mix))[0]
        return Arrival(
            t=t,
            prompt_tokens=self.random.randint(*chosen.prompt),
            output_tokens=self.random.randint(*chosen.output),
            prefix=chosen.prefix or ("shared" if chosen.shared_prefix else ""),
            prefix_tokens=chosen.shared_prefix,
            priority=chosen.priority,
        )

    def _summed(self, mix: Sequence[LengthClass]) -> list[float]:
        # A rebuilt mix has hundreds of classes, and adding them up took longer than serving a request.
        if self._mix is not mix:
            self._mix, self._weights = mix, list(accumulate(c.share for c in mix))
        return self._weights

    def _closed(self, engine: Engine, phase: Phase, start: float) -> None:
        end = start + phase.seconds
        clients = [_Client(engine, phase, end) for _ in range(phase.clients)]
        for client in clients:
            self._next(client, start)
        engine.advance(end)
        for client in clients:
            if client.request is not None and not client.request.reason and phase.cut:
                engine.abort(client.request)

    def _next(self, client: _Client, t: float) -> None:
        if t < client.end:
            client.request = self._submit(client.engine, self.draw(client.phase.mix, 0.0), t)
            self._clients[client.request] = client

    def _answered(self, request: Request, t: float) -> None:
        client = self._clients.pop(request, None)
        if client is not None:
            self._next(client, t + client.phase.think_s)

    def _refused(self, request: Request, t: float) -> None:
        # A client that came back at once would be refused at once, without end.
        self._answered(request, t + RETRY_S)


class _Client:
    """One of a closed loop's clients, and the request that it waits for."""

    __slots__ = ("end", "engine", "phase", "request")

    def __init__(self, engine: Engine, phase: Phase, end: float) -> None:
        self.engine = engine
        self.phase = phase
        self.end = end
        self.request: Request | None = None


def read_trace(path: Path) -> list[Arrival]:
    """A trace file, plain or gzip: Azure's columns (``TIMESTAMP,ContextTokens,GeneratedTokens``), Mooncake's (a JSON object a
    line with ``timestamp`` in ms, ``input_length``, ``output_length``, ``hash_ids``), or a recording's ``requests.jsonl``
    (``intended`` in s, ``prompt_tokens``, ``output_tokens``).

    Raises InputError, which names the line that cannot be read.
    """
    packed = path.suffix == ".gz"
    name = path.with_suffix("") if packed else path
    try:
        with gzip.open(path, "rt", encoding="utf-8") if packed else path.open(encoding="utf-8", newline="") as file:
            lines = _lines(file, path)
            return _json_lines(lines, path) if name.suffix in (".jsonl", ".json") else _azure(lines, path)
    except (OSError, EOFError, zlib.error, UnicodeDecodeError) as error:
        raise InputError(
            f"the trace {path} cannot be read: it is no text, or cut short ({error})",
            "Give a CSV or JSON-lines file, plain or gzip; unpack other archives first (xz -d, zstd -d).",
        ) from error


def _lines(file: TextIO, path: Path) -> Iterator[str]:
    for number in range(1, _MAX_TRACE_ROWS + 1):
        line = file.readline(_MAX_LINE)
        if not line:
            return
        if len(line) == _MAX_LINE:
            raise InputError(
                f"{path}, line {number} is longer than {_MAX_LINE:,} characters", "A trace has a request a line."
            )
        yield line


def _azure(lines: Iterable[str], path: Path) -> list[Arrival]:
    rows: list[Arrival] = []
    first: float | None = None
    for number, row in enumerate(csv.DictReader(lines), start=2):
        try:
            t = datetime.fromisoformat(row["TIMESTAMP"][:26]).timestamp()
            prompt, output = int(row["ContextTokens"]), int(row["GeneratedTokens"])
        except (KeyError, TypeError, ValueError) as error:
            raise _unreadable(path, number, error) from error
        first = t if first is None else first
        rows.append(Arrival(t - first, max(prompt, 1), max(output, 1)))
    return rows


def _json_lines(lines: Iterable[str], path: Path) -> list[Arrival]:
    rows: list[Arrival] = []
    for number, line in enumerate(lines, start=1):
        try:
            row = json.loads(line)
            rows.append(_recorded(row) if "intended" in row else _mooncake(row))
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise _unreadable(path, number, error) from error
    rows.sort(key=lambda row: row.t)  # of a recording they stand in the order of their ends
    first = rows[0].t if rows else 0.0
    return [msgspec.structs.replace(row, t=row.t - first) for row in rows]


def _mooncake(row: dict[str, Any]) -> Arrival:
    ids = tuple(int(i) for i in row.get("hash_ids", ()))
    prompt, output = max(int(row["input_length"]), 1), max(int(row["output_length"]), 1)
    return Arrival(_moment(row["timestamp"]) / 1000, prompt, output, ids)


def _recorded(row: dict[str, Any]) -> Arrival:
    return Arrival(_moment(row["intended"]), max(int(row["prompt_tokens"]), 1), max(int(row["output_tokens"]), 1))


def _moment(value: Any) -> float:
    if not math.isfinite(moment := float(value)):
        raise ValueError(f"{value!r} is no moment")
    return moment


def _unreadable(path: Path, number: int, error: Exception) -> InputError:
    return InputError(
        f"{path}, line {number}: {type(error).__name__} {error}",
        "A trace has Azure's columns TIMESTAMP,ContextTokens,GeneratedTokens, Mooncake's JSON lines, or a recording's own.",
    )
