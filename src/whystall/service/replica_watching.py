"""Replicas of a Ray cluster, watched for as long as each is there; their figures stand on the pages of its nodes."""

from __future__ import annotations

from functools import partial

import msgspec

from whystall.errors import WhystallError
from whystall.model.recording import Recording, SeriesTable
from whystall.model.target import Target
from whystall.sources.hardware.columns import gpu_of, host_of
from whystall.sources.live.access import Access
from whystall.sources.live.http import Session
from whystall.sources.ray.cluster import Cluster
from whystall.sources.ray.dashboard import read_cluster, read_targets
from whystall.sources.ray.notices import cluster_notices
from whystall.sources.ray.question import parse_ray, ray_token
from whystall.sources.ray.reader import is_page_address

from .node_page import NodePage, Replica
from .rounds import Rounds
from .scraping import Scraping, Taker
from .target import WatchTarget

# Workers report every 10 s, and some versions leave a series out between two reports.
SILENT_S = 60.0
_SERVE = "/api/serve/applications/"
_GOING = ("STOPPING",)


class ReplicaWatching:
    """The loop of one ``ray+http://`` target. ``run`` ends only when it is cancelled."""

    def __init__(self, rounds: Rounds) -> None:
        self._rounds = rounds
        self._target = rounds.target
        self._question = parse_ray(rounds.target.target)
        self._taker = rounds.taker
        self._cluster = Cluster("")
        self._pages: dict[str, NodePage] = {}
        self._known: dict[str, Replica] = {}  # by the name under which it is watched
        self._served: set[str] = set()  # that Serve once named
        self._over: set[str] = set()  # that Serve names no more; their series stand on the page for a while yet
        self._told = 0  # how often the dashboard has told
        self._serve_told = False

    async def run(self) -> None:
        """Ask who is there, again and again, and scrape the nodes."""
        access = self._target.access.or_token(ray_token())
        try:
            async with Session(self._question.address, access) as session:
                while True:
                    await self._once(session)
                    await self._rounds.pause()
        finally:
            await self._rounds.members.end()

    async def _once(self, session: Session) -> None:
        try:
            self._cluster = await read_cluster(session)
            self._told += 1
            self._serve_told = not any(_SERVE in part for part in self._cluster.unseen)
            targets = [one for one in await read_targets(session, self._question.sd) if is_page_address(one)]
        except WhystallError as error:
            self._rounds.failed(type(error).__name__, error.message)
            return
        self._aim(targets)
        self._settle(self._rounds.now())
        if not self._known and all(page.asked for page in self._pages.values()):
            said = "; ".join(notice.text.en for notice in cluster_notices(self._cluster))
            self._rounds.failed("TooLittleData", f"no page of the cluster has a vLLM engine ({said})")
            return
        self._rounds.answered()

    def _aim(self, targets: list[str]) -> None:
        """Scrape exactly these pages, without the token: no secret goes to an address that a server named."""
        for page in [page for page in self._pages if page not in targets]:
            del self._pages[page]
        for page in targets:
            if page not in self._pages:
                self._pages[page] = NodePage(page, self)
        self._rounds.members.aim({page: partial(self._scrape, page) for page in targets})

    async def _scrape(self, page: str) -> None:
        plain = Access(timeout_s=self._target.access.timeout_s)
        await Scraping(WatchTarget(page, f"http://{page}", plain), self._rounds.interval_s, self._pages[page]).run()

    # -- what the pages say

    def meet(self, replica: Replica) -> Taker | None:
        """Whoever takes the figures of a replica that stands on a page, None where it is not asked for or is going."""
        name = self._rounds.name(replica.id or replica.page)
        if name not in self._known and not (self._is_told_of(replica) and self._wanted(replica.id)):
            return None
        replica.name = name
        if self._known.setdefault(name, replica) is not replica:
            self._known[name] = replica  # it moved to another page, or its page was away from the discovery
        elif not replica.found:
            replica.found = True
            target = f"{self._target.target.partition('?')[0]} {self._label(replica)}"
            deployment = self._cluster.deployment_of(replica.id)
            argv = self._cluster.argv_of(deployment.application) if deployment else ()
            found = msgspec.structs.replace(self._target, name=name, target=target, argv=argv or self._target.argv)
            self._taker.found(name, found)
        return self._taker

    def _is_told_of(self, replica: Replica) -> bool:
        """Whether Serve had the time to name it: a page knows of a new replica sooner than the dashboard was asked again."""
        if replica.met is None:
            replica.met = self._told
        return not self._serve_told or bool(self._state(replica.id)) or self._told > replica.met + 1

    def _wanted(self, id: str) -> bool:
        deployment, question = self._cluster.deployment_of(id), self._question
        if id in self._over or self._state(id) in _GOING:
            return False
        application, name = (deployment.application, deployment.name) if deployment else ("", "")
        return question.application in ("", application) and question.deployment in ("", name)

    def _label(self, replica: Replica) -> str:
        deployment = self._cluster.deployment_of(replica.id)
        found = f"{deployment.application}/{deployment.name} {replica.id}" if deployment else replica.id or replica.page
        return found.lstrip("/ ")

    def _state(self, id: str) -> str:
        rows = (row for one in self._cluster.deployments for row in one.replicas if row.id == id)
        return next((row.state for row in rows), "")

    def _listed(self) -> set[str]:
        rows = (row for one in self._cluster.deployments for row in one.replicas)
        return {self._rounds.name(row.id) for row in rows if row.state not in _GOING}

    # -- who is there

    def _settle(self, now: float) -> None:
        """Who is no more is let go; who should be there and says nothing gives no page."""
        told = self._serve_told
        for name, replica in list(self._known.items()):
            state = self._state(replica.id)
            if state:
                self._served.add(replica.id)
            silent = now - replica.seen > SILENT_S and (replica.reached or replica.page not in self._pages)
            over = told and (state in _GOING or (not state and replica.id in self._served))
            if over or (silent and not state and replica.id not in self._served):
                del self._known[name]
                self._taker.gone(name, now)
                replica.found = False
                self._over |= {replica.id} & self._served
            elif silent:
                self._taker.failed(name, now, "NoSamples", "Ray counts it as running, and its series left the page")
        # Without Serve the pages alone say who is there, and a worker reports to its page now and then.
        if (told or self._rounds.seen_for() > SILENT_S) and all(page.answered for page in self._pages.values()):
            self._rounds.only({*self._known, *self._listed()})
        notices = cluster_notices(self._cluster)
        for page in self._pages.values():
            rows: SeriesTable = page.node_rows()
            gpu, host = gpu_of(rows), host_of(rows)
            for name, replica in self._known.items():
                if replica.page == page.address:
                    said = Recording(Target(name), SeriesTable.empty(), gpu=gpu, host=host, warnings=notices)
                    self._taker.told(name, said)
