"""A load with kinds of requests that the shared generator does not send; writes the same line a request.

::

    python benchmarks/gpu/load_kinds.py URL PHASES_JSON OUT_JSONL [SEED]

A phase is ``{"seconds", "streams": [{"rate" | "concurrency" | "burst" with "every", "prompt", "output", …}]}``. A stream may
also give ``text`` (the prompt is so many characters of words instead of token ids), ``schema`` (each answer keeps to a JSON
schema of its own), ``logprobs``, ``adapters`` (a LoRA name each), ``think`` (seconds between two requests), ``give_up``
(seconds until the client hangs up), ``url`` (another way to the server) and ``shared`` (tokens of a common prefix).
"""

from __future__ import annotations

import asyncio
import itertools
import json
import random
import sys
import time
from pathlib import Path
from typing import Any, TextIO

import aiohttp

VOCABULARY = 32_000
TIMEOUT_S = 300


def prompt(stream: dict[str, Any], rng: random.Random) -> Any:
    """Token ids, or words where the stream wants text."""
    if "text" in stream:
        return " ".join(
            rng.choice(("import", "return", "class", "self", "value", "for")) for _ in range(stream["text"] // 6)
        )
    low, high = stream["prompt"] if isinstance(stream["prompt"], list) else (stream["prompt"], stream["prompt"])
    length, shared = rng.randint(low, high), stream.get("shared", 0)
    head = random.Random(7)
    ids = [head.randrange(10, VOCABULARY) for _ in range(min(shared, length))]
    return ids + [rng.randrange(10, VOCABULARY) for _ in range(length - len(ids))]


def body(stream: dict[str, Any], rng: random.Random) -> dict[str, Any]:
    """The request's JSON."""
    low, high = stream["output"] if isinstance(stream["output"], list) else (stream["output"], stream["output"])
    wanted: dict[str, Any] = {"model": "m", "prompt": prompt(stream, rng), "max_tokens": rng.randint(low, high)}
    wanted |= {"temperature": 0.8, "stream": True, "ignore_eos": "schema" not in stream}
    if "adapters" in stream:
        wanted["model"] = rng.choice(stream["adapters"])
    if "logprobs" in stream:
        wanted["logprobs"] = stream["logprobs"]
    if "schema" in stream:
        wanted["structured_outputs"] = {"json": schema(stream["schema"], rng)}
    return wanted


def schema(fields: int, rng: random.Random) -> dict[str, Any]:
    """A JSON schema that no other request has."""
    names = [f"f{rng.randrange(10**9)}" for _ in range(fields)]
    choices = {"enum": [f"v{rng.randrange(10**9)}" for _ in range(30)]}
    kinds = [{"type": "string", "pattern": "^[a-z]{3,40}-[0-9]{2,20}$"}, choices, {"type": "array", "items": choices}]
    properties = {name: kinds[i % len(kinds)] for i, name in enumerate(names)}
    return {"type": "object", "properties": properties, "required": names, "additionalProperties": False}


class Load:
    """The clients of one run."""

    def __init__(self, url: str, sink: TextIO, seed: int) -> None:
        self.url, self.sink, self.rng = url, sink, random.Random(seed)
        self.live: set[asyncio.Task[None]] = set()

    def send(self, session: aiohttp.ClientSession, phase: int, stream: dict[str, Any]) -> asyncio.Task[None]:
        task = asyncio.create_task(self.request(session, phase, stream, body(stream, self.rng), time.time()))
        self.live.add(task)
        task.add_done_callback(self.live.discard)
        return task

    async def request(
        self,
        session: aiohttp.ClientSession,
        phase: int,
        stream: dict[str, Any],
        wanted: dict[str, Any],
        intended: float,
    ) -> None:
        sent, begin = time.time(), time.perf_counter()
        arrivals: list[float] = []
        error = None
        timeout = aiohttp.ClientTimeout(total=stream.get("give_up", TIMEOUT_S))
        try:
            async with session.post(
                stream.get("url", self.url) + "/v1/completions", json=wanted, timeout=timeout
            ) as answer:
                if answer.status != 200:
                    error = f"http {answer.status}: {(await answer.text())[:200]}"
                async for line in answer.content:
                    if line.startswith(b"data: {"):
                        arrivals.append(time.perf_counter())
        except (TimeoutError, aiohttp.ClientError) as failure:
            error = f"{type(failure).__name__}: {failure}"[:200]
        gaps = sorted(b - a for a, b in itertools.pairwise(arrivals))
        part = {name: round(gaps[min(len(gaps) - 1, int(q * len(gaps)))], 6) if gaps else None for name, q in QUANTILES}
        ids = wanted["prompt"]
        seen = {"phase": phase, "intended": intended, "sent": sent, "output_tokens": wanted["max_tokens"]}
        seen["prompt_tokens"] = len(ids) if isinstance(ids, list) else len(ids.split())
        seen |= {"chunks": len(arrivals), "ttft": arrivals[0] - begin if arrivals else None}
        self.sink.write(json.dumps(seen | {"e2e": time.perf_counter() - begin, **part, "error": error}) + "\n")

    async def stream(self, session: aiohttp.ClientSession, phase: int, stream: dict[str, Any], end: float) -> None:
        """One stream of a phase until ``end``."""
        if "concurrency" in stream:
            await asyncio.gather(*(self.client(session, phase, stream, end) for _ in range(stream["concurrency"])))
        while "rate" in stream and time.perf_counter() < end:
            self.send(session, phase, stream)
            await asyncio.sleep(self.rng.expovariate(stream["rate"]))
        while "burst" in stream and time.perf_counter() < end:
            for _ in range(stream["burst"]):
                self.send(session, phase, stream)
            await asyncio.sleep(min(stream["every"], max(0.0, end - time.perf_counter())))

    async def client(self, session: aiohttp.ClientSession, phase: int, stream: dict[str, Any], end: float) -> None:
        while time.perf_counter() < end:
            await self.send(session, phase, stream)
            await asyncio.sleep(stream.get("think", 0.0))

    async def run(self, phases: list[dict[str, Any]]) -> None:
        async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:
            for number, phase in enumerate(phases):
                end = time.perf_counter() + phase["seconds"]
                streams = [asyncio.create_task(self.stream(session, number, s, end)) for s in phase["streams"]]
                await asyncio.sleep(phase["seconds"])
                for task in streams:
                    task.cancel()
            for task in list(self.live):
                task.cancel()
            await asyncio.gather(*self.live, return_exceptions=True)


QUANTILES = (("itl_p50", 0.5), ("itl_p99", 0.99), ("itl_max", 1.0))


def main(url: str, phases: str, out: str, seed: str = "1") -> None:
    """Send the phases one after another; what is still open at the end is cut and not written."""
    with Path(out).open("w") as sink:
        asyncio.run(Load(url, sink, int(seed)).run(json.loads(Path(phases).read_text())))


if __name__ == "__main__":
    main(*sys.argv[1:])
