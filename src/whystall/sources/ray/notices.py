"""What a cluster's state means for who asks why a server is slow."""

from __future__ import annotations

from collections.abc import Iterator

from whystall.model.recording import InputWarning
from whystall.model.text import Text

from .cluster import Cluster

_VERSION = Text(
    "Ray {version}: {alive} nodes alive, {gpus:g} GPUs, {replicas} Serve replicas running",
    "Ray {version}：{alive} 个节点在线，{gpus:g} 块 GPU，{replicas} 个 Serve 副本在运行",
)
_DEAD = Text("Ray counts {count} nodes as dead: {which}", "Ray 认为 {count} 个节点已失联：{which}")
_PENDING = Text(
    "{count} placement groups wait for resources ({which}): a replica that needs one does not start",
    "{count} 个 placement group 在等待资源（{which}）：需要它的副本无法启动",
)
_DEMAND = Text("the cluster lacks resources for {which}", "集群缺少以下资源：{which}")
_UNHEALTHY = Text(
    "the Serve deployment {name} is {status}: {running} of {wanted} replicas run. {message}",
    "Serve 部署 {name} 的状态为 {status}：{wanted} 个副本中有 {running} 个在运行。{message}",
)
_APPLICATION = Text(
    "the Serve application {name} is {status}. {message}", "Serve 应用 {name} 的状态为 {status}。{message}"
)
_FAILED = Text("the job {name} failed. {message}", "作业 {name} 失败。{message}")
_UNSEEN = Text("Ray's dashboard did not tell: {which}", "Ray 仪表板未给出：{which}")
_WELL = ("RUNNING", "")
_WAITING = ("PENDING", "PREPARED", "RESCHEDULING")
_SHOWN = 3


def cluster_notices(cluster: Cluster) -> tuple[InputWarning, ...]:
    """Dead nodes, placement groups that wait, deployments that are not healthy, failed jobs; first what there is."""
    return tuple(_found(cluster))


def _found(cluster: Cluster) -> Iterator[InputWarning]:
    alive = [node for node in cluster.nodes if node.state == "ALIVE"]
    running = sum(deployment.running for deployment in cluster.deployments)
    gpus = sum(node.gpus for node in alive)
    yield _one("ray_cluster", _VERSION, version=cluster.version, alive=len(alive), gpus=gpus, replicas=running)
    yield from _nodes_and_groups(cluster)
    yield from _serve(cluster)
    for job in [job for job in cluster.jobs if job.status == "FAILED"][:_SHOWN]:
        yield _one("ray_job_failed", _FAILED, name=job.id, message=job.message)
    if cluster.unseen:
        yield _one("ray_unseen", _UNSEEN, which=", ".join(cluster.unseen))


def _nodes_and_groups(cluster: Cluster) -> Iterator[InputWarning]:
    dead = [node for node in cluster.nodes if node.state == "DEAD"]
    if dead:
        which = ", ".join(f"{node.ip} {node.message}".strip() for node in dead[:_SHOWN])
        yield _one("ray_dead_nodes", _DEAD, count=len(dead), which=which)
    waiting = [group for group in cluster.groups if group.state in _WAITING]
    if waiting:
        which = ", ".join(group.name or group.id[:8] for group in waiting[:_SHOWN])
        yield _one("ray_placement_groups_pending", _PENDING, count=len(waiting), which=which)
    if cluster.demand:
        yield _one("ray_resources_lacking", _DEMAND, which="; ".join(cluster.demand[:_SHOWN]))


def _serve(cluster: Cluster) -> Iterator[InputWarning]:
    for application in cluster.applications:
        if application.status not in _WELL:
            yield _one("ray_application", _APPLICATION, name=application.name, status=application.status,
                       message=application.message)  # fmt: skip
    for one in cluster.deployments:
        wanted = len(one.replicas) if one.wanted is None else one.wanted
        if one.status not in ("HEALTHY", "") or one.running < wanted:
            name = f"{one.application}/{one.name}"
            yield _one("ray_deployment", _UNHEALTHY, name=name, status=one.status, running=one.running, wanted=wanted,
                       message=one.message)  # fmt: skip


def _one(id: str, text: Text, **values: object) -> InputWarning:
    said = text.format(**values)
    return InputWarning(id, Text(said.en.rstrip(), said.zh.rstrip()))
