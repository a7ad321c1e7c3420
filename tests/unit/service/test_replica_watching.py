"""A Ray cluster whose replicas come and go, and report less often than they are asked."""

from __future__ import annotations

from contextlib import asynccontextmanager

import pytest
from aiohttp import web

from fake_ray import FakeRay, ray_page, serve
from heard import Heard, running
from servers import counter_page, http_server
from whystall.service.replica_watching import SILENT_S, ReplicaWatching
from whystall.service.rounds import Rounds
from whystall.service.target import WatchTarget
from whystall.sources.live.access import Access

TOKENS = "ray_vllm_generation_tokens_total"


class Cluster:
    """A dashboard and one node's page; each replica's tokens rise with every ``rises``-th reading of the page."""

    def __init__(self, samples, rises: int = 1) -> None:
        self.replicas: tuple[str, ...] = ("r1",)
        self.samples = samples
        self.rises = rises
        self.asked = 0
        self.away = False
        self.seen: list[str] = []
        self.now = 0.0

    async def page(self, request: web.Request) -> web.Response:
        self.seen.append(request.headers.get("Authorization", ""))
        if self.away or request.path != "/metrics":
            raise web.HTTPServiceUnavailable
        self.asked += 1
        value = 10.0 * (self.asked // self.rises)
        return web.Response(text="ray_tasks 1.0\n" + "".join(ray_page(counter_page(value), r) for r in self.replicas))

    def names(self, *replicas: str) -> None:
        self.ray.answers["/api/serve/applications/"] = serve("LLM:m", list(replicas), max_num_seqs=4)

    @asynccontextmanager
    async def watched(self, query: str = "", token: str = ""):
        async with http_server(self.page) as page:
            self.ray = FakeRay(self.samples, [page.removeprefix("http://"), "../etc/passwd:1"], token=token)
            self.names("r1")
            async with http_server(self.ray.handler) as base:
                heard = Heard()
                target = WatchTarget("ray", f"ray+{base}{query}", Access(token=token, timeout_s=3))
                # Their own clock: silence is then a matter of the test's choice.
                loop = ReplicaWatching(Rounds(target, 0.02, heard, every_s=0.02, now=lambda: self.now))
                async with running(loop):
                    yield heard


@pytest.fixture
def cluster(shared):
    return Cluster(shared / "samples" / "ray-2.60")


async def test_replicas_come_and_go(cluster):
    async with cluster.watched() as heard:
        values = await heard.until("page", "ray~r1")
        assert TOKENS in values
        cluster.replicas = ("r1", "r2")
        cluster.names("r1", "r2")
        await heard.until("page", "ray~r2")
        cluster.names("r2")  # its series stand on the page for a while yet
        await heard.until("gone", "ray~r1")
        at = len(heard.all)
        await heard.until("page", "ray~r2", times=3)
        assert not [one for one in heard.all[at:] if one[1] == "ray~r1"]
    found = next(more for kind, name, more in heard.all if (kind, name) == ("found", "ray~r2"))
    assert found.target.endswith("llm/LLM:m r2")
    assert found.argv == ("--max-num-seqs", "4")
    assert heard.count("failed") == 0


async def test_only_what_is_new_on_the_page_is_handed_on(cluster):
    cluster.rises = 3
    async with cluster.watched() as heard:
        await heard.until("page", "ray~r1", times=4)
    values = [more[TOKENS] for kind, _, more in heard.all if kind == "page"]
    assert values == sorted(set(values))
    assert cluster.asked >= 3 * (len(values) - 1)


async def test_a_page_that_is_away_is_told_of_its_replicas(cluster):
    async with cluster.watched() as heard:
        await heard.until("page", "ray~r1")
        cluster.away = True
        error, _ = await heard.until("failed", "ray~r1")
        assert error == "Unavailable"
        cluster.away = False
        await heard.until("page", "ray~r1")
    assert heard.count("gone") == 0


async def test_a_replica_whose_series_are_gone_is_dead_where_ray_counts_it_and_over_where_it_does_not(cluster):
    import time

    cluster.replicas = ("r1", "x")  # Serve knows nothing of x
    async with cluster.watched() as heard:
        cluster.now = time.time()
        await heard.until("page", "ray~x")
        cluster.replicas = ()
        cluster.now = time.time() + SILENT_S + 60
        error, text = await heard.until("failed", "ray~r1")
        assert (error, "left the page" in text) == ("NoSamples", True)
        assert heard.count("gone", "ray~x") == 1
        cluster.now = time.time()
        cluster.replicas = ("r1", "x")
        await heard.until("page", "ray~x")
    assert heard.count("found", "ray~x") == 2


async def test_a_replica_whose_node_left_the_cluster_is_over(cluster):
    import time

    cluster.replicas = ("x",)  # Serve knows nothing of it, and its node is gone
    async with cluster.watched() as heard:
        cluster.now = time.time()
        cluster.names()
        await heard.until("page", "ray~x")
        cluster.away = True
        await heard.until("failed", "ray~x")
        cluster.ray.answers["/api/prometheus/sd"] = []
        cluster.now = time.time() + SILENT_S + 60
        await heard.until("gone", "ray~x")
        at = len(heard.all)
        await heard.until("only", "ray", times=3)
        assert not [one for one in heard.all[at:] if one[1] == "ray~x"]


async def test_without_serve_the_pages_alone_say_who_is_there(cluster):
    async with cluster.watched() as heard:
        cluster.ray.answers["/api/serve/applications/"] = (501, "")
        await heard.until("page", "ray~r1")
        assert heard.count("only") == 0 or ("only", "ray", frozenset({"ray~r1"})) in heard.all
        cluster.now += SILENT_S + 1
        await heard.until("only", "ray", frozenset({"ray~r1"}))
    assert heard.count("gone") == 0


async def test_the_token_goes_to_the_dashboard_alone(cluster):
    async with cluster.watched(token="secret") as heard:
        await heard.until("page", "ray~r1")
        assert set(cluster.seen) == {""}
        cluster.ray.token = "another"
        error, text = await heard.until("failed", "ray")
    assert error == "AccessDenied"
    assert "secret" not in text


async def test_what_was_asked_for_is_watched(cluster):
    cluster.replicas = ("r1", "r2")
    async with cluster.watched("?deployment=other") as heard:
        error, text = await heard.until("failed", "ray")
    assert error == "TooLittleData"
    assert "has a vLLM engine" in text
    assert heard.count("found") == 0
