"""The check of a configuration, on servers that answer and that do not."""

import json
from pathlib import Path

from aiohttp import web

from emulated import emulator
from fake_kubernetes import TOKEN, FakeApi, pod
from fake_ray import FakeRay, ray_page, serve
from servers import counter_page, http_server
from whystall.cli import run
from whystall.service.daemon import Plan
from whystall.service.rehearsal import rehearse
from whystall.service.settings import NoticeSettings, WatchSettings
from whystall.service.target import WatchTarget
from whystall.sources.live.access import Access


async def states(plan: Plan) -> dict[str, tuple[str, str]]:
    found = await rehearse(plan)
    return {one.id: (one.state, one.text.en) for one in (*found.reachable, *found.readable)}


async def test_everything_that_is_named_is_tried_once(tmp_path: Path) -> None:
    log = tmp_path / "server.log"
    log.write_text("")
    async with emulator() as (url, _):
        fine = WatchTarget("fine", url, log=log, exporters=(f"{url}/dcgm",), otlp_listen="127.0.0.1:4318")
        gone = WatchTarget("gone", "http://127.0.0.1:1", log=tmp_path / "none", exporters=(url,))
        notices = (NoticeSettings("slack", url_env="NOT_SET"), NoticeSettings("alertmanager", url="http://a:9093"))
        plan = Plan((fine, gone), store=tmp_path / "w.sqlite", settings=WatchSettings(notices=notices))
        found = await states(plan)
    assert found["fine"][0] == "ok"
    assert found[f"fine {url}/dcgm"] == ("ok", found[f"fine {url}/dcgm"][1])
    assert found["gone"][0] == "failed"
    assert "nothing answers" in found["gone"][1]
    assert "neither DCGM's" in found[f"gone {url}"][1]
    assert found[f"fine {log}"][0] == "ok"
    assert found[f"gone {tmp_path / 'none'}"][0] == "failed"
    assert found["fine 127.0.0.1:4318"][0] == "ok"
    assert found[str(tmp_path / "w.sqlite")][0] == "ok"
    assert found["notice slack"] == ("failed", "the variable NOT_SET is not set")
    assert found["notice alertmanager"][0] == "ok"
    assert found["127.0.0.1:9400"][0] == "ok"
    assert not (tmp_path / "w.sqlite").exists()


async def test_a_prometheus_is_asked_for_its_engines(tmp_path: Path) -> None:
    body = {"status": "success", "data": {"resultType": "matrix", "result": []}}

    async def answer(_request: web.Request) -> web.Response:
        return web.json_response(body)

    async with http_server(answer) as url:
        found = await states(Plan((WatchTarget("prom", f"prometheus+{url}?job=v"),), host=""))
    assert found["prom"][0] == "failed"
    assert "no series of a vLLM server" in found["prom"][1]


async def test_a_deployment_is_asked_for_its_pods() -> None:
    api = FakeApi(pod("vllm-a"), pod("vllm-b"))
    api.logs["vllm-b", False] = "ERROR EngineCore failed to start."
    async with http_server(api.handler) as base:
        right = WatchTarget("k8s", f"k8s://llm/vllm?api={base}", Access(token=TOKEN))
        fine = await states(Plan((right,), host=""))
        api.dead.add("vllm-b")
        half = await states(Plan((right,), host=""))
        wrong = await states(Plan((WatchTarget("k8s", right.target),), host=""))
    assert fine["k8s"] == ("ok", "2 engines: vllm-a, vllm-b")
    assert half["k8s"] == ("failed", "no page from 1: vllm-b; those that give one: vllm-a")
    assert "answered 401" in wrong["k8s"][1]


async def test_a_ray_cluster_is_asked_for_its_replicas(shared: Path) -> None:
    async def page(_request: web.Request) -> web.Response:
        return web.Response(text=ray_page(counter_page(10.0), "r1"))

    async with http_server(page) as node:
        ray = FakeRay(shared / "samples" / "ray-2.60", [node.removeprefix("http://")], token="t")
        ray.answers["/api/serve/applications/"] = serve("LLM:m", ["r1"])
        async with http_server(ray.handler) as base:
            fine = await states(Plan((WatchTarget("ray", f"ray+{base}", Access(token="t")),), host=""))
            wrong = await states(Plan((WatchTarget("ray", f"ray+{base}"),), host=""))
    assert fine["ray"] == ("ok", "1 engine: llm/LLM:m r1")
    assert "wants a token" in wrong["ray"][1]


def test_the_verb_says_what_does_not_answer(tmp_path: Path, capsys) -> None:
    config = tmp_path / "whystall.toml"
    config.write_text('[targets.a]\nurl = "http://127.0.0.1:1"\n')
    assert run(["watch", "--check", "--config", str(config), "--json"]) == 3
    told = json.loads(capsys.readouterr().out)
    assert [(one["id"], one["state"]) for one in told["reachable"]] == [("a", "failed")]
