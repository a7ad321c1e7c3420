"""Pods of a Deployment, watched for as long as each is there: scaled up, replaced, scaled down."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from functools import partial

import msgspec

from whystall.errors import AccessDenied, TooLittleData, WhystallError
from whystall.model.recording import Recording, SeriesKey, SeriesTable
from whystall.model.target import Target
from whystall.sources.exposition import Page
from whystall.sources.kubernetes.connection import connection
from whystall.sources.kubernetes.pod_log import PodLog
from whystall.sources.kubernetes.pods import Pod, event_warnings
from whystall.sources.kubernetes.question import parse_kubernetes
from whystall.sources.kubernetes.reader import list_events, list_pods, way_of
from whystall.sources.live.facts import ServerFacts
from whystall.sources.live.http import Session
from whystall.sources.live.scrubber import mask_secrets

from .rounds import Rounds
from .scraping import Listener, Scraping, Taker
from .target import WatchTarget


class _Pod(Listener):
    """One pod; hands on what its scraping says of it, but no failure that says nothing of the engine."""

    def __init__(self, name: str, log: PodLog, taker: Taker, reached: Callable[[], bool]) -> None:
        self.name = name
        self.log = log
        self.started = False  # it was ready once, or gave a page: until then it loads its weights
        self._taker = taker
        self._reached = reached

    def page(self, name: str, t: float, page: Page, keys: Sequence[SeriesKey]) -> None:
        self.started = True
        self._taker.page(name, t, page, keys)

    def failed(self, name: str, t: float, error: str, text: str) -> None:
        if self.started and self._reached():
            self._taker.failed(name, t, error, text)

    def facts(self, name: str, facts: ServerFacts) -> None:
        self._taker.facts(name, facts)


class PodWatching:
    """The loop of one ``k8s://`` target. ``run`` ends only when it is cancelled, or where no API server is known."""

    def __init__(self, rounds: Rounds) -> None:
        self._rounds = rounds
        self._target = rounds.target
        self._question = parse_kubernetes(rounds.target.target)
        self._taker = rounds.taker
        self._pods: dict[str, _Pod] = {}
        self._seen = False  # an engine was there once

    async def run(self) -> None:
        """Ask who is there, again and again, and scrape each."""
        question = self._question
        try:
            while True:
                with connection(question.api, question.context, self._target.access) as (address, access):
                    async with Session(address, access) as session:
                        await self._while_admitted(session)
                await self._rounds.members.end()  # their access is that of before
        finally:
            await self._rounds.members.end()

    async def _while_admitted(self, session: Session) -> None:
        """Rounds until the token is taken no more: that of a service account changes while one runs."""
        while True:
            try:
                await self._round(session)
                self._rounds.answered()
            except WhystallError as error:
                self._rounds.failed(type(error).__name__, error.message)
                if isinstance(error, AccessDenied):
                    await self._rounds.pause()
                    return
            await self._rounds.pause()

    async def _round(self, session: Session) -> None:
        pods = await self._present(session)
        names = {self._rounds.name(pod.name): pod for pod in pods}
        for name in set(self._pods) - set(names):
            del self._pods[name]
        for name, pod in names.items():
            self._meet(name, pod)
        self._rounds.members.aim({name: partial(self._scrape, name, pod, session) for name, pod in names.items()})
        self._rounds.only(set(names))
        await self._tell(session, names)

    async def _present(self, session: Session) -> list[Pod]:
        try:
            found = await list_pods(session, self._question)
        except TooLittleData:
            if not self._seen:
                self._rounds.only(())  # whoever was open when the watch ended is not there, either
                raise
            found = []  # scaled down to none
        self._seen = True
        return [pod for pod in found if not pod.ending]

    def _meet(self, name: str, pod: Pod) -> None:
        if name not in self._pods:
            log = PodLog(way_of(self._question, pod), pod)
            self._pods[name] = _Pod(name, log, self._taker, lambda: self._rounds.failures == 0)
            target = f"{self._target.target.partition('?')[0]} {pod.name}"
            argv = mask_secrets(pod.argv) or self._target.argv
            self._taker.found(name, msgspec.structs.replace(self._target, name=name, target=target, argv=argv))
        # What cannot start is told, too: its page will not come.
        self._pods[name].started |= pod.ready or (pod.restarts > 0 and bool(pod.warnings))

    async def _scrape(self, name: str, pod: Pod, session: Session) -> None:
        page = f"{session.address.base}{way_of(self._question, pod)}:{pod.port}/proxy"
        await Scraping(WatchTarget(name, page, session.access), self._rounds.interval_s, self._pods[name]).run()

    async def _tell(self, session: Session, names: dict[str, Pod]) -> None:
        """What the cluster knows of each pod: its state, its events, its log."""
        events = await list_events(session, self._question)
        for name, pod in names.items():
            said = (*pod.warnings, *event_warnings(events, {pod.name}))
            nothing = SeriesTable.empty()
            self._taker.told(name, Recording(Target(pod.name), nothing, log=pod.lines, warnings=said))
        await asyncio.gather(*(self._log(session, name) for name in names))

    async def _log(self, session: Session, name: str) -> None:
        try:
            chunk, written = await self._pods[name].log.more(session)
        except WhystallError:
            return  # the page says more than the log
        if written is not None:
            self._taker.logged(name, chunk, written)
