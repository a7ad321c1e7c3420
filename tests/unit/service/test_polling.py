"""A Prometheus that answers what a test wants, errors and half a body too."""

import json
from contextlib import asynccontextmanager

import pytest
from aiohttp import web

from servers import http_server
from whystall.service.polling import SILENT_S, Polling
from whystall.service.rounds import Rounds
from whystall.service.target import WatchTarget


class Taken:
    def __init__(self) -> None:
        self.pages: list[tuple[str, float, int]] = []
        self.failures: list[tuple[str, str, str]] = []
        self.found_: list[str] = []
        self.backs = 0
        self.gone_: list[str] = []
        self.onlys: list[frozenset[str]] = []

    def page(self, name, t, page, keys) -> None:
        self.pages.append((name, t, len(page.ids)))

    def failed(self, name, t, error, text) -> None:
        self.failures.append((name, error, text))

    def facts(self, name, facts) -> None: ...

    def told(self, name, recording) -> None:
        assert recording.metrics.keys

    def found(self, name, target) -> None:
        self.found_.append(target.target.partition(" ")[2])

    def back(self, name, t) -> None:
        self.backs += 1

    def gone(self, name, t) -> None:
        self.gone_.append(name)

    def only(self, target, members, t) -> None:
        self.onlys.append(frozenset(members))


def body(*samples: tuple[str, float]) -> str:
    instances = sorted({instance for instance, _ in samples})
    result = [
        {
            "metric": {"__name__": name, "instance": instance, "job": "v", "engine": "0"},
            "values": [[t, "1"] for one, t in samples if one == instance],
        }
        for instance in instances
        for name in ("vllm:num_requests_running", "vllm:generation_tokens_total")
    ]
    return json.dumps({"status": "success", "data": {"resultType": "matrix", "result": result}})


@asynccontextmanager
async def polling(*answers: tuple[int, str]):
    left = list(answers)
    times = iter(range(1000, 100000, 15))

    async def handler(_request: web.Request) -> web.Response:
        status, text = left.pop(0) if len(left) > 1 else left[0]
        return web.Response(status=status, text=text, content_type="application/json")

    async with http_server(handler) as url:
        taken = Taken()
        target = WatchTarget("prom", f"prometheus+{url}?job=v")
        yield Polling(Rounds(target, 15.0, taken, now=lambda: float(next(times))), 300.0), taken


async def test_each_instance_is_a_server_and_each_sample_is_taken_once():
    first, second = body(("a:1", 990.0), ("b:1", 991.0)), body(("a:1", 990.0), ("a:1", 1005.0), ("b:1", 991.0))
    async with polling((200, first), (200, second)) as (poll, taken):
        await poll.once()
        await poll.once()
    assert taken.found_ == ["a:1", "b:1"]
    assert taken.pages == [("prom~a-1", 990.0, 2), ("prom~b-1", 991.0, 2), ("prom~a-1", 1005.0, 2)]
    assert taken.failures == []


async def test_an_instance_without_new_samples_gives_no_page():
    rounds = int(SILENT_S / 15) + 2
    async with polling((200, body(("a:1", 990.0)))) as (poll, taken):
        for _ in range(rounds):
            await poll.once()
    assert taken.failures
    assert {(name, error) for name, error, _ in taken.failures} == {("prom~a-1", "NoSamples")}


async def test_an_instance_whose_target_left_the_discovery_is_over_and_one_that_fails_is_not():
    """Prometheus marks the ``up`` of a target that it scrapes no more; that of one that fails is there, and 0."""
    samples = json.loads(body(("a:1", 990.0), ("b:1", 990.0)))
    up = [{"metric": {"__name__": "up", "instance": name}, "values": [[990.0, "0"]]} for name in ("a:1", "b:1")]

    async def handler(request: web.Request) -> web.Response:
        query = request.query["query"]
        if query == 'up{job="v"}':
            found = {"resultType": "vector", "result": [{"metric": up[1]["metric"], "value": [990.0, "0"]}]}
        elif query.startswith("up{"):
            found = {"resultType": "matrix", "result": up}
        else:
            found = samples["data"]
        return web.json_response({"status": "success", "data": found})

    now = 1000.0
    async with http_server(handler) as url:
        taken = Taken()
        poll = Polling(Rounds(WatchTarget("prom", f"prometheus+{url}?job=v"), 15.0, taken, now=lambda: now), 300.0)
        await poll.once()
        now += SILENT_S + 60
        samples["data"]["result"] = []
        await poll.once()
        await poll.once()
    assert taken.gone_ == ["prom~a-1"]
    assert [name for name, _, _ in taken.failures] == ["prom~b-1"] * 2


@asynccontextmanager
async def surveyed(up: set[str], samples: tuple[str, ...] = ("a:1",)):
    """Rounds of 30 s of a Prometheus with samples of some, and an ``up`` of others (of whoever is in ``up`` then)."""

    async def handler(request: web.Request) -> web.Response:
        if request.query["query"] == "group by (instance) (up)":
            result = [{"metric": {"instance": one}, "value": [990.0, "1"]} for one in sorted(up)]
            found = {"status": "success", "data": {"resultType": "vector", "result": result}}
        else:
            found = json.loads(body(*((one, float(request.query["time"])) for one in samples)))
        return web.json_response(found)

    times = iter(range(1000, 100000, 10))
    async with http_server(handler) as url:
        taken = Taken()
        target = WatchTarget("prom", f"prometheus+{url}?job=v")
        yield Polling(Rounds(target, 15.0, taken, now=lambda: float(next(times))), 300.0), taken


async def test_who_left_while_nobody_watched_is_told_once_and_after_a_minute():
    up = {"a:1", "dead:1"}  # one that is scraped and does not answer is there
    async with surveyed(up) as (poll, taken):
        await poll.once()
        assert taken.onlys == []  # a Prometheus that was started just now has not scraped everybody
        for _ in range(int(SILENT_S / 10)):
            await poll.once()
    assert taken.onlys == [{"prom~a-1", "prom~dead-1"}]


@pytest.mark.parametrize("up", [set(), {"other:1"}])
async def test_a_prometheus_that_does_not_know_who_is_there_says_of_nobody_that_he_left(up: set[str]):
    async with surveyed(up) as (poll, taken):
        for _ in range(2 * int(SILENT_S / 10)):
            await poll.once()
    assert taken.onlys == []
    assert taken.pages


async def test_where_everybody_left_that_is_told_too():
    async with surveyed({"node:9100"}, samples=()) as (poll, taken):
        for _ in range(int(SILENT_S / 10) + 2):
            await poll.once()
    assert taken.onlys == [{"prom~node-9100"}]
    assert {error for _, error, _ in taken.failures} == {"TooLittleData"}


@pytest.mark.parametrize(
    ("answer", "name", "told"),
    [
        ((500, "oops"), "Unavailable", "500"),
        ((200, body(("a:1", 990.0))[:60]), "NotMetrics", "half an answer"),
        ((401, ""), "AccessDenied", "401"),
        ((503, '{"status":"error","errorType":"timeout","error":"query timed out"}'), "Unavailable", "timed out"),
        ((200, "<html>"), "NotMetrics", "no answer of a Prometheus"),
        ((200, '{"status":"success","data":{"resultType":"matrix","result":[]}}'), "TooLittleData", "no series"),
    ],
)
async def test_a_prometheus_in_trouble_is_named_and_asked_again(answer, name, told):
    async with polling(answer, (200, body(("a:1", 1010.0)))) as (poll, taken):
        await poll.once()
        await poll.once()
    ((target, error, text),) = taken.failures
    assert (target, error) == ("prom", name)
    assert told in text
    assert taken.pages == [("prom~a-1", 1010.0, 2)]
    assert taken.backs == 1
