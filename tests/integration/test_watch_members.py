"""Servers that come and go behind one target of the daemon."""

from __future__ import annotations

from pathlib import Path

from aiohttp import web

from fake_kubernetes import TOKEN, FakeApi, pod
from servers import http_server
from whystall.service import pod_watching
from whystall.service.daemon import Plan
from whystall.service.target import WatchTarget
from whystall.sources.archive.store import Archive
from whystall.sources.live.access import Access

from .test_watch_trouble import FAST, daemon


async def test_a_pod_that_dies_is_an_incident_until_another_takes_its_place(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(pod_watching, "DISCOVERY_S", 0.1)
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
    monkeypatch.setattr(pod_watching, "DISCOVERY_S", 0.1)
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
    with Archive.read(tmp_path / "w.sqlite") as archive:
        assert [incident.state for incident in archive.incidents(10)] == ["recovered"]


async def test_an_api_server_that_came_back_while_nobody_watched_is_no_incident_any_more(
    tmp_path: Path, monkeypatch
) -> None:
    monkeypatch.setattr(pod_watching, "DISCOVERY_S", 0.05)
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
