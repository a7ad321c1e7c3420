"""The watcher's core in a process of its own: pages by the pipe, what happened back. Killed in the middle by soak.py.

A frame is JSON in one line: ``{"name", "t", "size"}`` and then ``size`` bytes of a page, or size 0 where there was none.
Each is answered by one line of JSON once it is kept.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import psutil

from whystall.service.keeper import Keeper
from whystall.service.ledger import Ledger
from whystall.service.log import Log
from whystall.service.look import look
from whystall.service.lookout import Lookout
from whystall.service.pulse import Pulse
from whystall.service.server import Watching
from whystall.sources.archive.store import Archive
from whystall.sources.exposition import PageParser


def main(store: Path, interval_s: float) -> None:
    keeper = Keeper(Archive.open(store), Log(), keep_s=1e12, full_s=1e12)
    ledger = Ledger(keeper)
    lookout = Lookout(Watching(interval_s=interval_s), keeper)
    # No loop beats here, and pages come at their own time: without this every second of a slow machine would count as one in
    # which the watch was late, and be held against no server.
    lookout.pulse = Pulse(interval_s, clock=lambda: 0.0)
    parsers: dict[str, PageParser] = {}
    for line in iter(sys.stdin.buffer.readline, b""):
        frame = json.loads(line)
        name, t = frame["name"], frame["t"]
        body = sys.stdin.buffer.read(frame["size"])
        if name not in parsers:
            parsers[name] = PageParser()
            server = lookout.watch(name, f"http://{name}:8000")
            server.argv = tuple(frame["argv"])
            server.remember(keeper.recent(name, t, 300.0))
            for incident in ledger.open():
                if incident.engine_id == name:
                    server.resume(incident)
        if body:
            page = parsers[name].parse(body)
            keeper.add(name, t, page, parsers[name].keys)
            job = lookout.take(name, t, page, parsers[name].keys)
        else:
            keeper.fail(name, t, "Unreachable")
            job = lookout.fail(name, t, "Unreachable", "nothing answers")
        happened = []
        for happening in lookout.looked(job, look(job)) if job else ():
            incident = ledger.write(happening.incident)
            engine = lookout.engine(incident.engine_id)
            if engine is not None and not incident.ended and engine[1].course.incident is not None:
                engine[1].course.incident = incident
            happened.append(
                [happening.what, incident.state, incident.kind, incident.cause, incident.since, incident.uid]
            )
        answer = {"happened": happened, "looked": job is not None}
        if frame.get("ask"):
            answer |= {"rss": psutil.Process().memory_info().rss, "cpu_s": time.process_time()}
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), float(sys.argv[2]))
