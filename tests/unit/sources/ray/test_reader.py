"""A Ray cluster read through its dashboard and its nodes' pages."""

from __future__ import annotations

import asyncio
import json

import pytest
from aiohttp import web

from fake_ray import FakeRay, ray_page, serve
from servers import counter_page, http_server, raw_server
from whystall.errors import AccessDenied, NotMetrics, TimedOut, TooLittleData, Unavailable, Unreachable, UsageError
from whystall.sources.live.access import Access
from whystall.sources.ray.question import parse_ray
from whystall.sources.ray.reader import read_ray


@pytest.fixture
def samples(shared):
    return shared / "samples" / "ray-2.60"


OPEN = Access()


def read(base, query="", access=OPEN, seconds=0.2):
    target = f"ray+{base}{query}"
    return read_ray(parse_ray(target), seconds, 0.05, access, target)


def node(*replicas):
    """A node's page on which each replica's tokens rise by 10 with each scrape."""
    asked = iter(range(10_000))
    seen = []

    async def handler(request):
        seen.append(request.headers)
        n = next(asked)
        return web.Response(
            text="ray_tasks 1.0\n" + "".join(ray_page(counter_page(10.0 * n), replica) for replica in replicas)
        )

    handler.seen = seen
    return handler


def host(base):
    return base.removeprefix("http://")


async def test_a_recording_for_each_replica_with_its_arguments(samples):
    async with http_server(node("r1", "r2")) as page:
        ray = FakeRay(samples, [host(page)])
        ray.answers["/api/serve/applications/"] = serve("LLM:m", ["r1", "r2"], max_num_seqs=4, enforce_eager=True)
        async with http_server(ray.handler) as base:
            found = await read(base)
    assert list(found) == ["llm/LLM:m r1", "llm/LLM:m r2"]
    one = found["llm/LLM:m r1"]
    assert one.argv == ("--enforce-eager", "--max-num-seqs", "4")
    assert {key.name for key in one.metrics.keys} >= {"ray_vllm_generation_tokens_total"}
    assert not any(key.name.startswith("process_") for key in one.metrics.keys)  # those are the agent's
    assert one.metrics.keys[0].labels == (("engine", "0"), ("model_name", "m"))
    assert one.host is not None
    assert one.host.cpus == 8
    assert "2 Serve replicas" in one.warnings[0].text.en
    assert one.warnings[0].text.zh.startswith("Ray 2.60.0")


async def test_the_token_goes_to_the_dashboard_and_not_to_the_pages_that_it_names(samples):
    page_of_node = node("r1")
    async with http_server(page_of_node) as page:
        ray = FakeRay(samples, [host(page)], token="secret")
        async with http_server(ray.handler) as base:
            assert await read(base, access=Access(token="secret"))
            for wrong in ("", "other"):
                with pytest.raises(AccessDenied, match="401") as error:
                    await read(base, access=Access(token=wrong))
                assert "secret" not in str(error.value) + error.value.hint
    assert not any("Authorization" in headers for headers in page_of_node.seen)


async def test_what_ray_says_of_itself_stands_beside_the_answer(samples):
    async with http_server(node("r1")) as page:
        ray = FakeRay(samples, [host(page)])
        ray.answers["/api/serve/applications/"] = serve("LLM:m", ["r1", "r2!"], status="UNHEALTHY")
        ray.answers["/api/v0/nodes"]["data"]["result"]["result"].append(
            {"node_id": "b", "node_ip": "10.0.0.8", "state": "DEAD", "state_message": "health check failed"}
        )
        group = {"placement_group_id": "c0ffee0123", "name": "tp4", "state": "PENDING"}
        ray.answers["/api/v0/placement_groups"]["data"]["result"]["result"].append(group)
        ray.answers["/api/jobs/"] = [{"job_id": "02", "status": "FAILED", "message": "exit code 1"}]
        demand = ray.answers["/api/cluster_status"]["data"]["clusterStatus"]["loadMetricsReport"]
        demand["pgDemand"] = [[{"strategy": "PACK", "bundles": [[{"GPU": 4}, 1]]}, 1]]
        async with http_server(ray.handler) as base:
            (recording,) = (await read(base)).values()
    said = {notice.id: notice.text.en for notice in recording.warnings}
    assert "10.0.0.8 health check failed" in said["ray_dead_nodes"]
    assert "1 placement groups wait for resources (tp4)" in said["ray_placement_groups_pending"]
    assert '"GPU":4' in said["ray_resources_lacking"]
    assert "1 of 2 replicas run" in said["ray_deployment"]
    assert "exit code 1" in said["ray_job_failed"]


async def test_without_an_engine_the_answer_is_what_ray_says(samples):
    async with http_server(node()) as page:
        ray = FakeRay(samples, [host(page)])
        group = {"placement_group_id": "c0ffee0123", "name": "tp4", "state": "PENDING"}
        ray.answers["/api/v0/placement_groups"]["data"]["result"]["result"].append(group)
        async with http_server(ray.handler) as base:
            with pytest.raises(TooLittleData, match=r"no.* vLLM engine.*placement groups wait for resources \(tp4\)"):
                await read(base)


async def test_a_page_between_two_reports_is_looked_at_again(samples):
    """A worker's series leave Ray's page when a report is late, and come back with the next."""
    reported, asked = node("r1"), iter(range(10_000))

    async def late(request):
        return web.Response(text="ray_tasks 1.0\n") if next(asked) < 1 else await reported(request)

    async with http_server(late) as page:
        ray = FakeRay(samples, [host(page)])
        async with http_server(ray.handler) as base:
            assert list(await read(base, seconds=2.0)) == ["r1"]
    assert next(asked) > 2


async def test_a_node_that_is_not_yet_discovered_is_waited_for(samples):
    async with http_server(node("r1")) as page, http_server(node()) as agent:
        ray = FakeRay(samples, [host(agent)])

        async def handler(request):
            answer = await ray.handler(request)
            if request.path == "/api/prometheus/sd":
                ray.answers[request.path] = [{"targets": [host(agent), host(page)]}]
            return answer

        async with http_server(handler) as base:
            assert list(await read(base, seconds=2.0)) == ["r1"]


async def test_pages_that_cannot_be_reached_are_named(samples, free_port):
    dead = f"127.0.0.1:{free_port()}"
    async with http_server(node("r1")) as page:
        ray = FakeRay(samples, [dead, host(page), "http://evil/?x", "a b:1"])
        async with http_server(ray.handler) as base:
            (recording,) = (await read(base)).values()
            ray.answers["/api/prometheus/sd"] = [{"targets": [dead]}]
            with pytest.raises(Unreachable, match="none can be read from here"):
                await read(base)
            ray.answers["/api/prometheus/sd"] = []
            with pytest.raises(NotMetrics, match="names no pages"):
                await read(base)
    (lost,) = [notice for notice in recording.warnings if notice.id == "ray_pages_lost"]
    assert "3 of Ray's pages" in lost.text.en


async def test_an_older_ray_without_discovery_is_asked_for_its_nodes(samples):
    async with http_server(node("r1")) as page:
        ray = FakeRay(samples, [])
        del ray.answers["/api/prometheus/sd"]
        summary = ray.answers["/nodes"]["data"]["summary"][0]
        summary["ip"] = "127.0.0.1"
        summary["raylet"]["metricsExportPort"] = int(page.rpartition(":")[2])
        async with http_server(ray.handler) as base:
            assert list(await read(base)) == ["r1"]


async def test_the_discovery_file_takes_the_place_of_the_dashboards(samples, tmp_path):
    async with http_server(node("r1")) as page, http_server(FakeRay(samples, ["127.0.0.1:1"]).handler) as base:
        file = tmp_path / "sd.json"
        file.write_text(json.dumps([{"labels": {"job": "ray"}, "targets": [host(page)]}]))
        assert list(await read(base, f"?sd={file}")) == ["r1"]
        file.write_text('[{"labels": {"job": "ray"}, "targ')
        with pytest.raises(NotMetrics, match="half of a service discovery"):
            await read(base, f"?sd={file}")
        with pytest.raises(UsageError, match="cannot be read"):
            await read(base, f"?sd={tmp_path / 'none.json'}")


@pytest.mark.parametrize(
    ("answer", "error", "said"),
    [
        ((200, "<html>"), NotMetrics, "not a Ray dashboard"),
        ((200, '{"version": "4"}'), NotMetrics, "not a Ray dashboard"),
        ((200, '{"ray_version": "2.60.0", "ver'), NotMetrics, "not a Ray dashboard"),
        ((200, "[" * 100_000), NotMetrics, "not a Ray dashboard"),
        ((404, "nothing"), NotMetrics, "not a Ray dashboard"),
        ((403, "no"), AccessDenied, "403"),
        ((503, "later"), Unavailable, "503"),
    ],
)
async def test_another_program_is_refused_by_name(samples, answer, error, said):
    ray = FakeRay(samples, [])
    ray.answers["/api/version"] = answer
    async with http_server(ray.handler) as base:
        with pytest.raises(error, match=said):
            await read(base)


async def test_parts_that_the_dashboard_does_not_answer_are_named(samples):
    async with http_server(node("r1")) as page:
        ray = FakeRay(samples, [host(page)])
        ray.answers["/api/v0/nodes"] = (500, "boom")
        ray.answers["/api/cluster_status"] = (200, '{"data": {"cl')
        ray.answers["/api/jobs/"] = {"not": "a list"}
        async with http_server(ray.handler) as base:
            (recording,) = (await read(base)).values()
    (unseen,) = [notice for notice in recording.warnings if notice.id == "ray_unseen"]
    assert "/api/v0/nodes (500), /api/cluster_status (no JSON), /api/serve/applications/ (501)" in unseen.text.en


async def test_a_dashboard_that_never_answers_and_one_that_breaks_off():
    async def silent(reader, writer):
        await asyncio.Event().wait()

    async def half(reader, writer):
        writer.write(b'HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n{"ray_vers')
        await writer.drain()

    async with raw_server(silent) as base:
        with pytest.raises(TimedOut):
            await read(base, access=Access(timeout_s=0.2))
    async with raw_server(half) as base:
        with pytest.raises(Unreachable, match="broke off"):
            await read(base)
