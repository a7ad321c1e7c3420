"""Our scheduler behind the loop of the golden tables, and the comparison with the real one's rows."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from scheduler_scenario import draw, play

from whystall.emulator.engine.content import TokenContent
from whystall.emulator.engine.options import EngineOptions
from whystall.emulator.engine.request import Request
from whystall.emulator.engine.scheduler import Scheduler

FIELDS = ("more", "running", "waiting", "deferred", "free", "preemptions", "queries", "hits")


class OurPlayer:
    """Our scheduler, fed as the real one: what it generates joins the prompt, so that later turns can hit it."""

    def __init__(self, options: dict[str, Any]) -> None:
        self.scheduler = Scheduler(EngineOptions(**options))
        self.requests: dict[int, Request] = {}
        self.preemptions = self.queries = self.hits = 0

    def add(self, drawn: dict[str, Any]) -> None:
        request = Request(
            drawn["index"],
            len(drawn["prompt"]),
            len(drawn["outputs"]),
            TokenContent(drawn["prompt"] + drawn["outputs"]),
            arrival=float(drawn["index"]),
            max_tokens=drawn["max_tokens"],
            priority=drawn["priority"],
        )
        self.requests[request.id] = request
        self.scheduler.add(request)

    def abort(self, index: int) -> None:
        self.scheduler.abort(self.requests[index])

    def schedule(self) -> tuple[Any, list[tuple[int, int]]]:
        before = self.scheduler.decoding()
        batch = self.scheduler.schedule()
        after = set(self.scheduler.decoding())
        decodes = [(request.id, 1) for request in before if request in after] if batch.decodes else []
        self.preemptions += len(batch.preempted)
        scheduled = decodes + [(chunk.request.id, chunk.tokens) for chunk in batch.chunks]
        return (batch, self.scheduler.prefix_queries, self.scheduler.prefix_hits), scheduled

    def update(self, handle: Any) -> None:
        self.scheduler.update(handle[0])
        self.queries, self.hits = self.scheduler.prefix_queries, self.scheduler.prefix_hits

    def counts(self) -> dict[str, int]:
        return {
            "running": len(self.scheduler.running),
            "waiting": len(self.scheduler.waiting),
            "deferred": len(self.scheduler.deferred),
            "free": self.scheduler.pool.free_count,
            "preemptions": self.preemptions,
            "queries": self.queries,
            "hits": self.hits,
        }


def real_rows(packed: list[list[Any]]) -> Iterator[dict[str, Any]]:
    """The rows as the real scheduler gave them: who decodes is stored only where it changed."""
    ones: list[int] = []
    for row in packed:
        ones = ones if row[0] is None else row[0]
        yield {"one": ones, **dict(zip(FIELDS, row[1:], strict=True))}


def load(path: Path) -> list[dict[str, Any]]:
    tables: list[dict[str, Any]] = json.loads(gzip.decompress(path.read_bytes()))
    return tables


def first_difference(table: dict[str, Any]) -> str | None:
    """None where all rows are equal, else the first that is not, with both sides."""
    scenario = draw(table["seed"])
    ours = play(scenario, OurPlayer(scenario["options"]))
    for turn, (real, mine) in enumerate(zip(real_rows(table["rows"]), ours, strict=False)):
        mine = json.loads(json.dumps(mine))
        if real != mine:
            wrong = {name: (real[name], mine[name]) for name in real if real[name] != mine[name]}
            return f"seed {table['seed']} turn {turn}: (real, ours) {wrong} of {scenario['options']}"
    if len(ours) != len(table["rows"]):
        return f"seed {table['seed']}: {len(table['rows'])} rows, ours {len(ours)}"
    return None
