"""The daemon's heart: a loop for each target, looks in a worker, and everybody told what becomes of an incident."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable, Collection, Coroutine, Sequence
from pathlib import Path

from msgspec.structs import replace

from whystall.errors import WhystallError
from whystall.model.fleet import StoreState
from whystall.model.incident import Happening, Incident
from whystall.model.recording import Recording, SeriesKey
from whystall.sources.exposition import Page
from whystall.sources.live.clock import Clock
from whystall.sources.live.facts import ServerFacts

from .case_keeping import keep_case
from .course import GONE_UNSEEN, UNWATCHED, Course
from .discovery import discovers, discovery
from .events import Event, Events
from .foresight import Foresight, planned, suggested
from .keeper import Keeper
from .ledger import Ledger
from .links import Links
from .log import Log
from .look import Job
from .lookout import Lookout
from .polling import SILENT_S
from .scraping import Scraping
from .server import EngineSeen, Watching
from .silence import Silence, silenced
from .systemd import notify
from .target import WatchTarget, host_of
from .witnessing import Witnessing
from .workers import Workers

LATE_HINT = "give it more CPU or fewer targets"
Receiver = Callable[[Happening], None]


class Watcher:
    """Watches targets until it is told to stop. ``receivers`` get every happening, in order; they must not wait."""

    def __init__(
        self,
        how: Watching,
        ledger: Ledger,
        workers: Workers,
        log: Log,
        receivers: Sequence[Receiver] = (),
        keeper: Keeper | None = None,
        cases: Path | None = None,
    ) -> None:
        self.how = how
        self.lookout = Lookout(how, keeper)
        self.silences: tuple[Silence, ...] = ()
        self.dry_run = False
        self._keeper = keeper
        self._cases = cases
        self.ledger = ledger
        self.events = Events()
        self.started = time.time()
        self.looks = 0
        self.scrapes = self.failures = 0
        self.pages_s = 0.0  # that taking pages in took, of this process's time
        self.links = Links()
        self.lookout.pulse.changed = self._pulse_changed
        self.ready = asyncio.Event()  # every target was asked once
        self._workers = workers
        self._log = log
        self._receivers = list(receivers)
        self._targets: dict[str, WatchTarget] = {}
        self._loops: dict[str, asyncio.Task[None]] = {}
        self._jobs: set[asyncio.Task[None]] = set()
        self._asked: set[str] = set()

    @property
    def store(self) -> StoreState:
        """How the store goes; one without a path where there is none."""
        return self._keeper.state() if self._keeper is not None else StoreState("")

    # -- targets

    def aim(self, targets: Sequence[WatchTarget]) -> None:
        """Watch exactly these from now on; what is watched already and unchanged goes on undisturbed."""
        wanted = {target.name: target for target in targets}
        for name in [name for name, target in self._targets.items() if wanted.get(name) != target]:
            self._loops.pop(name).cancel()
            children = [one for one in self.lookout.servers if one.startswith(f"{name}~")]
            for one in (name, *(children if discovers(self._targets[name].target) else ())):
                self.lookout.leave(one)
            del self._targets[name]
            self._log.info("left", target=name)
        self._end_of_others(wanted)
        for name, target in wanted.items():
            if name not in self._targets:
                self._begin(target)

    def _end_of_others(self, wanted: Collection[str]) -> None:
        """Nothing stays open of whoever is watched no more, since nobody would ever see it end."""
        now = time.time()
        for incident in self.ledger.open():
            if not _is_of(incident.engine_id, wanted):
                for happening in self._course(incident).leave(now, UNWATCHED):
                    self._tell(happening)

    def _begin(self, target: WatchTarget) -> None:
        self._targets[target.name] = target
        if not discovers(target.target):
            self.found(target.name, target)
        self._loops[target.name] = asyncio.create_task(self._loop(target))
        self._log.info("watching", target=target.name)

    def _resume(self, name: str) -> None:
        """What was open when the watcher ended is open still, and its last minutes are the past to compare with."""
        server = self.lookout.servers[name]
        if self._keeper is not None:
            server.remember(self._keeper.recent(name, time.time(), self.how.window_s))
        own = self._targets.get(name)
        several = own is not None and discovers(own.target)  # its members are servers of their own
        for incident in self.ledger.open():
            if incident.engine_id == name or (not several and incident.engine_id.startswith(f"{name}~")):
                server.resume(incident)

    async def _loop(self, target: WatchTarget) -> None:
        try:
            if discovers(target.target):
                await discovery(target, self.how, self).run()
            await self._read(target)
        except WhystallError as error:  # an address or a certificate that can never do
            self.failed(target.name, time.time(), type(error).__name__, error.message)

    async def _read(self, target: WatchTarget) -> None:
        """A server's page, and what tells of it beside that."""
        clock = Clock()
        scraping = Scraping(target, self.how.interval_s, self, clock=clock)
        witness = self.lookout.servers[target.name].witness
        witnessing = Witnessing(target, witness, clock, self.how.interval_s, self._log, scraping.asked)
        beside = asyncio.create_task(witnessing.run())
        try:
            await scraping.run()
        finally:
            beside.cancel()
            await asyncio.gather(beside, return_exceptions=True)

    async def run(self, stop: asyncio.Event) -> None:
        """Watch until ``stop`` is set; then no more scrapes, and the looks that are under way come to their end."""
        pulse = asyncio.create_task(self.lookout.pulse.run())
        try:
            await stop.wait()
        finally:  # whoever cancels this closes the store next
            pulse.cancel()
            for loop in self._loops.values():
                loop.cancel()
            await asyncio.gather(*self._loops.values(), return_exceptions=True)
        while self._jobs:
            await asyncio.gather(*self._jobs)

    # -- what comes in

    def found(self, name: str, target: WatchTarget) -> None:
        """A server to watch, from the configuration or from a Prometheus."""
        server = self.lookout.watch(name, target.target, target.slo)
        server.argv, server.timeout_s = target.argv, target.access.timeout_s
        server.witness.links, server.witness.host = self.links, host_of(target.target)
        self._resume(name)

    def back(self, name: str, t: float) -> None:
        """Who tells of several answers."""
        self._note(name)
        for happening in self.lookout.back(name, t):
            self._tell(happening)
        for incident in self.ledger.open():  # it was away when the watch ended, and answers at the next start
            if incident.engine_id == name:
                for happening in self._course(incident).end(t):
                    self._tell(happening)

    def page(self, name: str, t: float, page: Page, keys: Sequence[SeriesKey]) -> None:
        """A page of ``name`` came."""
        if name in self.lookout.servers:
            begun = time.perf_counter()
            self.scrapes += 1
            self._note(name)
            if self._keeper is not None:
                self._keeper.add(name, t, page, keys)
            self._start(self.lookout.take(name, t, page, keys))
            self.pages_s += time.perf_counter() - begun

    def failed(self, name: str, t: float, error: str, text: str) -> None:
        """A scrape of ``name`` gave no page."""
        if self._is_our_fault(name, error):
            self._note(name)
            self._log.debug("a scrape was late by this watch's own fault", target=name, error=error)
            return
        if name in self._targets and name not in self.lookout.servers:  # a Prometheus is a server only while it fails
            self.found(name, self._targets[name])
        if name in self.lookout.servers:
            self.failures += 1
            self._note(name)
            known = self.lookout.servers[name].error.partition(":")[0]
            tell = self._log.debug if known == error else self._log.warning  # once, not with every scrape
            if self._keeper is not None:
                self._keeper.fail(name, t, error)
            tell("scrape failed", target=name, error=error, why=text)
            self._start(self.lookout.fail(name, t, error, text))

    def _is_our_fault(self, name: str, error: str) -> bool:
        """Whether the time that ran out was spent on waiting for CPU here, so that nobody knows what the server did."""
        server, target = self.lookout.servers.get(name), self._targets.get(name)
        patience = server.timeout_s if server else target.access.timeout_s if target else 0.0
        seconds = {"TimedOut": patience, "NoSamples": SILENT_S}.get(error, 0.0)
        return seconds > 0 and self.lookout.pulse.excuses(seconds)

    def _pulse_changed(self, late: bool) -> None:
        """This watch gets too little CPU, or gets enough again."""
        pulse = self.lookout.pulse
        if late:
            self._log.warning("this watch is late itself", lag_s=round(pulse.lag_s(), 2), hint=LATE_HINT)
            notify(f"STATUS=late by {pulse.lag_s():.1f} s: too little CPU")
        else:
            self._log.info("this watch is in time again", late_s=round(pulse.late_total_s, 1), excused=pulse.excused)
            notify("STATUS=in time")

    def gone(self, name: str, t: float) -> None:
        """``name`` is no more: scaled down, or another took its place."""
        self._log.info("ended", target=name)
        for happening in self.lookout.gone(name, t):
            self._tell(happening)

    def only(self, target: str, members: Collection[str], t: float) -> None:
        """``members`` are all the servers that stand behind ``target`` now; of whoever else stood there nothing is open."""
        for name in [name for name in self.lookout.servers if name.startswith(f"{target}~") and name not in members]:
            self.gone(name, t)
        for incident in self.ledger.open():  # of a member that ended while nobody watched
            if incident.engine_id.startswith(f"{target}~") and not _is_of(incident.engine_id, members):
                for happening in self._course(incident).leave(t, GONE_UNSEEN):
                    self._tell(happening)

    def _course(self, incident: Incident) -> Course:
        """The course of an incident whose server is not watched now."""
        course = Course(incident.engine_id, incident.target, incident.engine)
        course.incident = incident
        return course

    def logged(self, name: str, chunk: bytes, t: float) -> None:
        """Lines of the log of ``name``, the last of them written at ``t``."""
        if name in self.lookout.servers:
            self.lookout.servers[name].witness.log.take(chunk, t)

    def told(self, name: str, recording: Recording) -> None:
        """What a Prometheus knows of ``name`` beside its page."""
        if name in self.lookout.servers:
            self.lookout.servers[name].witness.tell(recording)

    def facts(self, name: str, facts: ServerFacts) -> None:
        """What ``name`` says of itself."""
        if name in self.lookout.servers:
            self.lookout.servers[name].facts = facts

    def _note(self, name: str) -> None:
        self._asked.add(name)
        if self._asked >= set(self._targets):
            self.ready.set()

    # -- looks

    def _start(self, job: Job | None) -> None:
        if job is not None:
            self._run(self._look(job))

    def _run(self, job: Coroutine[None, None, None]) -> None:
        task = asyncio.create_task(job)
        self._jobs.add(task)
        task.add_done_callback(self._jobs.discard)

    async def _look(self, job: Job) -> None:
        looked = await self._workers.look(job)
        self.looks += 1
        self._log.debug("looked", target=job.server, reason=job.reason, cost_s=looked.cost_s, error=looked.error)
        for happening in self.lookout.looked(job, looked):
            self._tell(happening)
        server = self.lookout.servers.get(job.server)
        for engine in server.engines.values() if server else ():
            self._unsilence(engine)
            self.events.tell(Event("look", engine.id))

    def _unsilence(self, engine: EngineSeen) -> None:
        """An incident that outlasts its silence is told then."""
        incident = engine.course.incident
        if incident is not None and incident.silenced and not self._silenced(incident):
            engine.course.incident = replace(incident, silenced="")
            self._tell(Happening("updated", engine.course.incident))

    def _silenced(self, incident: Incident) -> str:
        return silenced(self.silences, incident.engine_id, incident.cause, time.time())

    def _tell(self, happening: Happening) -> None:
        incident = self._kept(happening)
        self._log.info(
            f"incident {happening.what}",
            id=incident.id,
            target=incident.target,
            cause=incident.cause,
            kind=incident.kind,
        )
        told = replace(happening, incident=incident)
        self.events.tell(Event("happening", incident.engine_id, told))
        for receive in self._receivers:
            receive(told)
        if incident.ended and self._cases is not None:
            self._run(self._keep_case(incident, self._cases))
        if self.dry_run and happening.what == "opened" and incident.state == "warning":
            self._run(self._suggest(incident))

    async def _suggest(self, incident: Incident) -> None:
        """What a fix would do about what is foreseen; told where it is still foreseen then."""
        found = self.lookout.engine(incident.engine_id)
        if found is None or incident.forecast is None:
            return
        server, engine = found
        job = Foresight(server.current(engine), engine.label, incident.forecast, server.slo)
        suggestion = await self._workers.foresee(job)
        target = self._targets.get(server.name)
        if target is not None:
            suggestion = await planned(suggestion, target, os.environ)
        known = engine.course.incident
        if known is not None and known.uid == incident.uid:
            engine.course.incident = suggested(known, suggestion, server.window.last or known.updated)
            self._tell(Happening("updated", engine.course.incident))

    async def _keep_case(self, incident: Incident, path: Path) -> None:
        """An incident that is over becomes a case, in a thread: another program may hold the book."""
        try:
            number = await asyncio.to_thread(keep_case, incident, path)
        except WhystallError as error:
            self._log.error("an incident could not be kept as a case", id=incident.id, why=error.message)
            return
        if number:
            self.ledger.write(replace(incident, case=number))

    def _kept(self, happening: Happening) -> Incident:
        incident = self.ledger.write(replace(happening.incident, silenced=self._silenced(happening.incident)))
        found = self.lookout.engine(incident.engine_id)
        if found is not None and found[1].course.incident is not None and not incident.ended:
            found[1].course.incident = incident
        return incident


def _is_of(engine_id: str, names: Collection[str]) -> bool:
    return any(engine_id == name or engine_id.startswith(f"{name}~") for name in names)
