"""Servers that come and go behind one target of the daemon."""

from __future__ import annotations

from pathlib import Path

from aiohttp import web

from fake_kubernetes import TOKEN, FakeApi, pod
from servers import http_server
from whystall.service import polling, rounds
from whystall.service.daemon import Plan
from whystall.service.target import WatchTarget
from whystall.sources.archive.store import Archive
from whystall.sources.live.access import Access

from .test_watch_trouble import FAST, daemon


async def test_a_pod_that_dies_is_an_incident_until_another_takes_its_place(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(rounds, "DISCOVERY_S", 0.1)
    api = FakeApi(pod("vllm-a"), pod("vllm-b"))
    async with http_server(api.handler) as base:
        target = WatchTarget("llm", f"k8s://llm/vllm?api={base}", Access(token=TOKEN))
        plan = Plan((target,), FAST, host="", workers=0, store=tmp_path / "w.sqlite")
        async with daemon(plan) as (happened, _):
            api.dead.add("vllm-a")
            opened = (await happened.get()).incident
            api.pods = (pod("vllm-b"), pod("vllm-c"))
            ended = (await happened.get()).incident
    assert (opened.engine_id, opened.kind, opened.state) == ("llm~vllm-a", "unreachable", "open")
    assert (ended.id, ended.state) == (opened.id, "recovered")
    assert "not there any more" in ended.steps[-1].text.en


async def test_an_incident_of_a_pod_that_went_while_nobody_watched_is_over(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(rounds, "DISCOVERY_S", 0.1)
    api = FakeApi(pod("vllm-a"))
    async with http_server(api.handler) as base:
        target = WatchTarget("llm", f"k8s://llm/vllm?api={base}", Access(token=TOKEN))
        plan = Plan((target,), FAST, host="", workers=0, store=tmp_path / "w.sqlite")
        api.dead.add("vllm-a")
        async with daemon(plan) as (happened, _):
            opened = (await happened.get()).incident
        api.pods = (pod("vllm-b"),)
        async with daemon(plan) as (happened, _):
            ended = (await happened.get()).incident
    assert (ended.id, ended.engine_id, ended.state) == (opened.id, "llm~vllm-a", "recovered")
    assert (ended.left, "left while nobody watched" in ended.steps[-1].text.en) == (True, True)
    with Archive.read(tmp_path / "w.sqlite") as archive:
        assert [incident.state for incident in archive.incidents(10)] == ["recovered"]


async def test_an_api_server_that_came_back_while_nobody_watched_is_no_incident_any_more(
    tmp_path: Path, monkeypatch
) -> None:
    monkeypatch.setattr(rounds, "DISCOVERY_S", 0.05)
    api = FakeApi(pod("vllm-a"))
    async with http_server(api.handler) as base:
        target = WatchTarget("llm", f"k8s://llm/vllm?api={base}", Access(token=TOKEN))
        plan = Plan((target,), FAST, host="", workers=0, store=tmp_path / "w.sqlite")
        api.instead = lambda: web.Response(status=500, text="{}")
        async with daemon(plan) as (happened, _):
            opened = (await happened.get()).incident
        api.instead = None
        async with daemon(plan) as (happened, _):
            ended = (await happened.get()).incident
    assert (opened.engine_id, opened.kind) == ("llm", "unreachable")
    assert (ended.id, ended.state) == (opened.id, "recovered")


async def test_an_incident_of_an_instance_that_left_prometheus_while_nobody_watched_is_over(
    tmp_path: Path, monkeypatch
) -> None:
    monkeypatch.setattr(polling, "SILENT_S", 0.3)
    up = ["a:1", "b:1"]

    async def handler(request: web.Request) -> web.Response:
        at = float(request.query["time"])
        if request.query["query"] == "group by (instance) (up)":
            found = {
                "resultType": "vector",
                "result": [{"metric": {"instance": one}, "value": [at, "1"]} for one in up],
            }
        elif request.query["query"].startswith("up{"):
            found = {"resultType": "vector" if "[" not in request.query["query"] else "matrix", "result": []}
        else:  # of a nothing is new any more
            key = {"__name__": "vllm:num_requests_running", "engine": "0"}
            result = [{"metric": key | {"instance": "b:1"}, "values": [[at, "1"]]}]
            if "a:1" in up:
                result.append({"metric": key | {"instance": "a:1"}, "values": [[1000.0, "1"]]})
            found = {"resultType": "matrix", "result": result}
        return web.json_response({"status": "success", "data": found})

    async with http_server(handler) as url:
        target = WatchTarget("prom", f"prometheus+{url}")
        plan = Plan((target,), FAST, host="", workers=0, store=tmp_path / "w.sqlite")
        async with daemon(plan) as (happened, _):
            opened = (await happened.get()).incident
        up.remove("a:1")
        async with daemon(plan) as (happened, _):
            ended = (await happened.get()).incident
    assert (opened.engine_id, opened.kind) == ("prom~a-1", "unreachable")
    assert (ended.id, ended.left) == (opened.id, True)


async def test_an_incident_of_a_target_that_is_watched_no_more_is_over(tmp_path: Path) -> None:
    one, two = WatchTarget("one", "http://127.0.0.1:1"), WatchTarget("two", "http://127.0.0.1:2")
    store = tmp_path / "w.sqlite"
    async with daemon(Plan((one,), FAST, host="", workers=0, store=store)) as (happened, _):
        opened = (await happened.get()).incident
    async with daemon(Plan((two,), FAST, host="", workers=0, store=store)) as (happened, _):
        ended = (await happened.get()).incident
    assert (ended.id, ended.engine_id, ended.left) == (opened.id, "one", True)
    assert "not watched any more" in ended.steps[-1].text.en
