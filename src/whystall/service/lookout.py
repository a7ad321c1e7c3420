"""The watcher's core: pages in, incidents out. It does no I/O; the daemon and the benchmark feed it alike."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from whystall.model.incident import Happening, Incident
from whystall.model.recording import SeriesKey
from whystall.model.slo import Slo
from whystall.sources.exposition import Page

from .course import Look
from .habits import HabitStore
from .look import Job, Looked
from .pulse import Pulse
from .server import EngineSeen, Server, Watching
from .siblings import siblings


class Lookout:
    """All servers that are watched, by name."""

    def __init__(self, how: Watching, store: HabitStore | None = None) -> None:
        self.how = how
        self.pulse = Pulse(how.interval_s)
        self._store = store
        self.servers: dict[str, Server] = {}

    def watch(self, name: str, target: str, slo: Slo | None = None, how: Watching | None = None) -> Server:
        """Begin to watch ``target`` under ``name``; the one that bears it already is kept."""
        if name not in self.servers:
            self.servers[name] = Server(name, target, slo, how or self.how, self._store)
        return self.servers[name]

    def leave(self, name: str) -> None:
        """Watch ``name`` no more. What is open of it is for the caller to end, or to go on with."""
        self.servers.pop(name, None)

    def take(self, name: str, t: float, page: Page, keys: Sequence[SeriesKey]) -> Job | None:
        """A page of ``name`` came; the look that is due with it, if any."""
        server = self.servers[name]
        server.take(t, page, keys)
        return self._due(server, t)

    def fail(self, name: str, t: float, error: str, text: str = "") -> Job | None:
        """A scrape of ``name`` gave no page; the look that is due with it, if any."""
        server = self.servers[name]
        server.fail(t, error, text)
        return self._due(server, t)

    def _due(self, server: Server, t: float) -> Job | None:
        job = server.due(t)
        if job is None or not len(job.recording.metrics.times):
            return job
        late_s = self.pulse.late_s(t - float(job.recording.metrics.times[0]))
        return msgspec.structs.replace(job, late_s=late_s, replicas=siblings(server, self.servers.values()))

    def back(self, name: str, at: float) -> list[Happening]:
        """Whoever ``name`` is answers again, and is not itself an engine: what was open of it is over."""
        server = self.servers.pop(name, None)
        engines = server.engines.values() if server is not None else ()
        return [happening for engine in engines for happening in engine.course.end(at)]

    def gone(self, name: str, at: float) -> list[Happening]:
        """``name`` is no more, and nobody expects it to answer: what was open of it is over."""
        server = self.servers.pop(name, None)
        engines = server.engines.values() if server is not None else ()
        return [happening for engine in engines for happening in engine.course.leave(at)]

    def looked(self, job: Job, looked: Looked) -> list[Happening]:
        """A job came back: what became of each engine's incident."""
        server = self.servers.get(job.server)
        if server is None:  # it was left meanwhile
            return []
        server.looked(looked)
        found: list[Happening] = []
        for place, engine in enumerate(server.engines.values()):
            found += engine.course.see(_look(job, looked, server, engine, first=place == 0))
        return found

    def engine(self, id: str) -> tuple[Server, EngineSeen] | None:
        """The engine of that id in the API, None where there is none."""
        pairs = ((server, engine) for server in self.servers.values() for engine in server.engines.values())
        return next((pair for pair in pairs if pair[1].id == id), None)

    def open_incidents(self) -> list[Incident]:
        """What is open or warned of now."""
        courses = (engine.course for server in self.servers.values() for engine in server.engines.values())
        return [course.incident for course in courses if course.incident is not None]


def _look(job: Job, looked: Looked, server: Server, engine: EngineSeen, *, first: bool) -> Look:
    # A server that gives no page is one trouble, not one for each of its engines.
    only = len(server.engines) == 1
    full = looked.full.get(engine.label) or (next(iter(looked.full.values()), None) if only else None)
    tail = looked.tail.get(engine.label) or (next(iter(looked.tail.values()), None) if only else None)
    return Look(
        at=job.at,
        full=full.diagnosis if full else None,
        tail=tail,
        unreachable=server.unreachable() if first else None,
        lost_since=server.lost_since() if first else None,
        forecast=engine.forecast,
        burn=tuple(rate.rates(job.at) for rate in engine.burn),
        late=server.late(engine),
        felt=server.felt(engine),
        late_s=job.late_s,
    )
