"""The dashboard's real answers, read part by part."""

from __future__ import annotations

import pytest

from fake_ray import FakeRay, serve
from servers import http_server
from whystall.errors import AccessDenied, NotMetrics, Unavailable
from whystall.sources.live.access import Access
from whystall.sources.live.address import Address
from whystall.sources.live.http import Session
from whystall.sources.ray.cluster import Cluster, RayNode
from whystall.sources.ray.dashboard import read_cluster, read_targets
from whystall.sources.ray.notices import cluster_notices
from whystall.sources.ray.timeline import read_timeline


async def asked(ray, read, token=""):
    async with http_server(ray.handler) as base, Session(Address.parse(base), Access(token=token)) as session:
        return await read(session)


@pytest.fixture
def ray(shared):
    return FakeRay(shared / "samples" / "ray-2.60", ["10.0.0.7:8080"])


async def test_a_real_cluster(ray):
    cluster = await asked(ray, read_cluster)
    assert cluster.version == "2.60.0"
    assert [(node.ip, node.state, node.gpus) for node in cluster.nodes] == [("10.0.0.7", "ALIVE", 0.0)]
    assert [group.state for group in cluster.groups] == ["CREATED"]
    assert [job.status for job in cluster.jobs] == ["RUNNING"]
    assert cluster.unseen == ("/api/serve/applications/ (501)",)
    assert await asked(ray, read_targets) == ("10.0.0.7:8080",)


async def test_a_hostile_dashboard_breaks_nothing(ray):
    for path in ("/api/v0/nodes", "/api/jobs/", "/api/cluster_status", "/api/serve/applications/"):
        ray.answers[path] = {"data": [1], "applications": {"a": {"deployments": {"d": {"replicas": [None, 3]}}}}}
    ray.answers["/api/v0/placement_groups"] = {"data": {"result": {"result": [{"state": 5, "name": "x" * 10_000}]}}}
    cluster = await asked(ray, read_cluster)
    assert cluster.groups[0].state == ""
    assert len(cluster.groups[0].name) == 300
    assert [one.name for one in cluster.deployments] == ["d"]


async def test_the_arguments_of_two_models_are_nobodys(ray):
    told = serve("d", ["r"], max_num_seqs=4)
    configs = told["applications"]["llm"]["deployed_app_config"]["args"]["llm_configs"]
    configs.append({"engine_kwargs": {"max_num_seqs": 8}})
    ray.answers["/api/serve/applications/"] = told
    assert (await asked(ray, read_cluster)).argv_of("llm") == ()


async def test_the_timeline(ray):
    async with http_server(ray.handler) as base:
        assert (await read_timeline(Address.parse(base), Access())).startswith(b"[")
        for answer, error in (((401, ""), AccessDenied), ((500, ""), Unavailable), ((200, "{}"), NotMetrics)):
            ray.answers["/api/v0/tasks/timeline"] = answer
            with pytest.raises(error):
                await read_timeline(Address.parse(base), Access())


def test_a_healthy_cluster_has_one_notice():
    (only,) = cluster_notices(Cluster("2.60.0", nodes=(RayNode("a", "10.0.0.7", "ALIVE", 8.0),)))
    assert only.text.en == "Ray 2.60.0: 1 nodes alive, 8 GPUs, 0 Serve replicas running"
