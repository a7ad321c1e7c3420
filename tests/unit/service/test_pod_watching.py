"""A Deployment that is scaled, whose pods are replaced, and an API server that is away."""

from __future__ import annotations

from contextlib import asynccontextmanager

from aiohttp import web

from fake_kubernetes import TOKEN, FakeApi, pod
from heard import Heard, running
from servers import http_server
from whystall.service.pod_watching import PodWatching
from whystall.service.rounds import Rounds
from whystall.service.target import WatchTarget
from whystall.sources.live.access import Access


@asynccontextmanager
async def watching(api: FakeApi, token: str = TOKEN):
    async with http_server(api.handler) as base:
        target = WatchTarget("llm", f"k8s://llm/vllm?api={base}", Access(token=token, timeout_s=3))
        heard = Heard()
        loop = PodWatching(Rounds(target, 0.02, heard, every_s=0.02))
        async with running(loop):
            yield heard, base


def ready(name, is_ready=True, **more):
    return pod(name, container_status={"ready": is_ready, **more.pop("container_status", {})}, **more)


async def test_pods_come_and_go():
    api = FakeApi(ready("vllm-a"), ready("vllm-b"))
    async with watching(api) as (heard, base):
        await heard.until("page", "llm~vllm-a")
        await heard.until("page", "llm~vllm-b")
        api.pods = (ready("vllm-b"), ready("vllm-c"))  # one was replaced
        await heard.until("page", "llm~vllm-c")
        assert ("only", "llm", frozenset({"llm~vllm-b", "llm~vllm-c"})) in heard.all
        api.pods = ()
        await heard.until("only", "llm", frozenset())
        await heard.until("only", "llm", frozenset())
        api.pods = (ready("vllm-d"),)
        await heard.until("page", "llm~vllm-d")
    assert heard.count("failed", "llm") + heard.count("failed", "llm~vllm-d") == 0
    targets = [more.target for kind, _, more in heard.all if kind == "found"]
    assert targets[0] == "k8s://llm/vllm vllm-a"
    assert base not in targets[0]
    assert len(targets) == 4


async def test_a_pod_that_starts_or_is_told_to_go_is_not_called_dead():
    loading = ready("vllm-a", is_ready=False)
    loading["spec"]["containers"][1]["args"] = ["--port", "9"]  # nothing answers there
    going = ready("vllm-b")
    going["metadata"]["deletionTimestamp"] = "2026-11-30T08:00:00Z"
    evicted = ready("vllm-c", phase="Failed", reason="Evicted")
    api = FakeApi(loading, going, evicted)
    async with watching(api) as (heard, _):
        await heard.until("only", "llm", frozenset({"llm~vllm-a"}), times=10)
        assert heard.count("failed") == 0
        assert heard.count("page") == 0
        loading["status"]["containerStatuses"][0]["ready"] = True
        error, text = await heard.until("failed", "llm~vllm-a")
    assert error == "Unavailable"
    assert "503" in text or not text


async def test_a_pod_that_cannot_start_is_told():
    waiting = {"state": {"waiting": {"reason": "CrashLoopBackOff"}}, "restartCount": 4}
    broken = ready("vllm-a", is_ready=False, container_status=waiting)
    broken["spec"]["containers"][1]["args"] = ["--port", "9"]
    api = FakeApi(broken)
    async with watching(api) as (heard, _):
        await heard.until("failed", "llm~vllm-a")
        told = await heard.until("told", "llm~vllm-a")
    assert any("CrashLoopBackOff, 4 restarts" in warning.text.en for warning in told.warnings)


async def test_an_api_server_that_is_away_is_one_trouble_and_not_one_for_each_pod():
    api = FakeApi(ready("vllm-a"), ready("vllm-b"))
    async with watching(api) as (heard, _):
        await heard.until("page", "llm~vllm-b")
        await heard.until("back", "llm")
        api.instead = lambda: web.Response(status=500, text="{}")
        await heard.until("failed", "llm")
        at = len(heard.all)
        await heard.until("failed", "llm", times=2)
        assert {name for kind, name, _ in heard.all[at:] if kind == "failed"} == {"llm"}
        api.instead = None
        await heard.until("back", "llm")
        await heard.until("page", "llm~vllm-a")
    assert heard.count("found", "llm~vllm-a") == 1


async def test_a_wrong_token_is_named_and_tried_again():
    api = FakeApi(ready("vllm-a"))
    async with watching(api, token="wrong") as (heard, _):
        error, text = await heard.until("failed", "llm", times=2)
    assert error == "AccessDenied"
    assert "wrong" not in text
    assert heard.count("found") == 0


async def test_the_log_comes_line_by_line_and_each_once():
    api = FakeApi(ready("vllm-a"))
    stamp = "2026-11-30T08:00:0{}Z ERROR {}"
    api.logs["vllm-a", False] = "\n".join([stamp.format("0.5", "first"), stamp.format("1", "second"), "half"])
    async with watching(api) as (heard, _):
        chunk, written = await heard.until("logged", "llm~vllm-a")
        assert chunk == b"ERROR first\nERROR second\n"
        assert written == 1_796_025_601
        api.logs["vllm-a", False] += "\n" + stamp.format("1.25", "third")  # in the same second
        chunk, _ = await heard.until("logged", "llm~vllm-a")
        assert chunk == b"ERROR third\n"
        await heard.until("only", "llm", times=3)
    assert heard.count("logged") == 2
    assert any("sinceTime=2026-11-30T08:00:01Z" in one for one in api.asked)


async def test_no_pod_at_all_is_told():
    async with watching(FakeApi()) as (heard, _):
        error, text = await heard.until("failed", "llm")
        assert ("only", "llm", frozenset()) in heard.all  # who was open when the watch ended is not there, either
    assert error == "TooLittleData"
    assert "no pod with an engine" in text
