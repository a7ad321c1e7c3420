"""A lookout that is fed by an emulated server on virtual time, as the daemon feeds it over HTTP."""

from __future__ import annotations

import io
from collections.abc import Callable

from whystall.emulator.server.dcgm_page import dcgm_page
from whystall.emulator.server.deployment import Deployment
from whystall.emulator.server.faults import FAULTS, Planned, inject, prepared
from whystall.emulator.server.faults.scene import healthy_serving
from whystall.model.incident import Happening
from whystall.service.look import look
from whystall.service.lookout import Lookout
from whystall.service.server import Watching
from whystall.service.window import Window
from whystall.sources.exposition import PageParser

START = 1_790_000_000.0


class Emulated:
    """One emulated server ``name`` under a lookout; ``fault`` from ``at`` to ``until`` (seconds after the start)."""

    def __init__(self, fault: str = "", at: float = 300.0, until: float = 500.0, name: str = "a", **how: float) -> None:
        planned = [Planned(FAULTS[fault], at)] if fault else []
        serving = prepared(healthy_serving(fault or "healthy"), planned)
        self.log = io.StringIO()
        self.deployment = Deployment(serving, start=START, log=self.log)
        for plan in planned:
            inject(self.deployment, plan)
        self._plan = serving.traffic
        self._profiles = [replica.engine.clock.profile for replica in self.deployment.replicas]
        self.deployment.at(START + until, self._heal)
        self.lookout = Lookout(Watching(**how))
        self.name = name
        self.lookout.watch(name, f"http://{name}:8000")
        self.parser = PageParser()
        self._exporter = PageParser()
        self.now = START
        self.looks = 0
        self.happened: list[Happening] = []

    def read_log(self) -> None:
        """What was logged since the last call comes to the witness, as the loop beside the scraping brings it."""
        chunk = self.log.getvalue().encode()
        self.log.seek(0)
        self.log.truncate()
        self.lookout.servers[self.name].witness.log.take(chunk, self.now)

    def read_dcgm(self) -> None:
        """So does the page of the DCGM exporter."""
        server = self.lookout.servers[self.name]
        page = self._exporter.parse(dcgm_page(self.deployment, self.now).encode())
        server.witness.exporters.setdefault("dcgm", Window()).add(self.now, page, self._exporter.keys)

    def _heal(self, deployment: Deployment, _t: float) -> None:
        deployment.traffic.plan = self._plan
        for replica, profile in zip(deployment.replicas, self._profiles, strict=True):
            replica.engine.clock.set(profile)

    def run(
        self,
        seconds: float,
        answers: Callable[[float], bool] = lambda _t: True,
        beside: Callable[[], None] = lambda: None,
    ) -> list[Happening]:
        """Go on for ``seconds``; what happened in them. ``answers`` says when the server gives its page, ``beside`` is done
        before each scrape."""
        before = len(self.happened)
        for _ in range(int(seconds / self.lookout.how.interval_s)):
            self.now += self.lookout.how.interval_s
            self.deployment.advance(self.now)
            beside()
            if answers(self.now - START):
                page = self.parser.parse(self.deployment.page().encode())
                job = self.lookout.take(self.name, self.now, page, self.parser.keys)
            else:
                job = self.lookout.fail(self.name, self.now, "Unreachable", "nothing answers")
            if job is not None:
                self.looks += 1
                self.happened += self.lookout.looked(job, look(job))
        return self.happened[before:]
