"""Reading a Ray dashboard's API: the cluster, its Serve applications, its service discovery."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from whystall.errors import AccessDenied, InputError, NotMetrics, Unavailable, UsageError
from whystall.sources.live.http import Answer, Session

from .cluster import Cluster, RayApplication, RayDeployment, RayGroup, RayJob, RayNode, RayReplica
from .engine_arguments import words_of

_LIMIT = 16 * 1024 * 1024
_MOST = 1000  # nodes, groups, jobs and so on that are read; a reader needs no more
_TEXT = 300
_ASK_TOKEN = "give Ray's token with --token-file, or set RAY_AUTH_MODE=token and RAY_AUTH_TOKEN as Ray's programs want"
_OK, _MISSING = 200, 404


class _Group(msgspec.Struct, frozen=True):
    """One entry of a service discovery answer or file."""

    targets: list[str]
    labels: dict[str, str] = {}


async def read_cluster(session: Session) -> Cluster:
    """Everything that the dashboard says. Only its version must be told; what else fails is named in ``unseen``.

    Raises AccessDenied for a token that is missing or wrong, NotMetrics for another program, and what the session does.
    """
    version = _version(await session.get("/api/version", _LIMIT), session.address.base)
    unseen: list[str] = []
    nodes = await _part(session, "/api/v0/nodes?detail=1&limit=1000", unseen)
    groups = await _part(session, "/api/v0/placement_groups?limit=1000", unseen)
    status = await _part(session, "/api/cluster_status", unseen)
    jobs = await _part(session, "/api/jobs/", unseen)
    serve = await _part(session, "/api/serve/applications/", unseen)
    return Cluster(
        version=version,
        nodes=tuple(_node(row) for row in _rows(nodes)),
        groups=tuple(
            RayGroup(_text(row, "placement_group_id"), _text(row, "name"), _text(row, "state")) for row in _rows(groups)
        ),
        applications=tuple(_applications(serve)),
        deployments=tuple(_deployments(serve)),
        jobs=tuple(_job(row) for row in _listed(jobs)),
        demand=tuple(_demand(status)),
        unseen=tuple(unseen),
    )


async def read_targets(session: Session, file: Path | None = None) -> tuple[str, ...]:
    """The pages of metrics (``host:port``) that Ray's service discovery names, by its file where one is given.

    Raises UsageError for a file that cannot be read, NotMetrics where it is no service discovery.
    """
    if file is not None:
        return _targets(_bytes(file), str(file))
    answer = await session.get("/api/prometheus/sd", _LIMIT)
    if answer.status == _OK:
        return _targets(answer.body, session.address.base)
    _refuse(answer, session.address.base)
    if answer.status != _MISSING:
        raise Unavailable(
            f"{session.address.base} names no pages of metrics: {answer.status}", "see Ray's dashboard.log"
        )
    # A Ray from before the endpoint: each node says where its page is.
    nodes = _object(await session.get("/nodes?view=summary", _LIMIT))
    return tuple(_exports(nodes))


def _version(answer: Answer, where: str) -> str:
    _refuse(answer, where)
    version = _text(_object(answer), "ray_version")
    if answer.status >= 500:
        raise Unavailable(f"{where} answered {answer.status}", "the dashboard is not ready or overloaded; try again")
    if not version:
        raise NotMetrics(f"{where} is not a Ray dashboard (no ray_version)", "give the dashboard's port, mostly 8265")
    return version


def _refuse(answer: Answer, where: str) -> None:
    if answer.status in (401, 403):
        raise AccessDenied(f"{where} answered {answer.status}: it wants a token, or not this one", _ASK_TOKEN)


async def _part(session: Session, path: str, unseen: list[str]) -> Any:
    """One answer as JSON; None, and its name in ``unseen``, where it is none."""
    name = path.partition("?")[0]
    try:
        answer = await session.get(path, _LIMIT)
    except (Unavailable, InputError) as error:
        unseen.append(f"{name} ({type(error).__name__})")
        return None
    if answer.status != _OK:
        unseen.append(f"{name} ({answer.status})")
        return None
    try:
        return msgspec.json.decode(answer.body)
    except (msgspec.DecodeError, RecursionError):
        unseen.append(f"{name} (no JSON)")
        return None


def _object(answer: Answer) -> dict[str, Any]:
    try:
        return msgspec.json.decode(answer.body, type=dict[str, Any])
    except (msgspec.DecodeError, RecursionError):
        return {}


def _targets(body: bytes, where: str) -> tuple[str, ...]:
    try:
        groups = msgspec.json.decode(body, type=list[_Group])
    except (msgspec.DecodeError, RecursionError) as error:
        what = "half of a service discovery" if "truncated" in str(error) else "no service discovery of Prometheus"
        raise NotMetrics(f"{where} gave {what}", "it should be a list of targets and labels; see Ray's log") from None
    found = dict.fromkeys(target for group in groups for target in group.targets)
    return tuple(found)[:_MOST]


def _bytes(file: Path) -> bytes:
    try:
        with file.open("rb") as stream:
            return stream.read(_LIMIT)
    except OSError as error:
        raise UsageError(f"the service discovery file {file} cannot be read: {error.strerror}", "check sd=") from None


def _exports(nodes: dict[str, Any]) -> Iterator[str]:
    for row in _listed(_at(nodes, "data", "summary")):
        ip, port = _text(row, "ip"), _at(row, "raylet", "metricsExportPort")
        if ip and isinstance(port, int) and 0 < port < 65536:
            yield f"[{ip}]:{port}" if ":" in ip else f"{ip}:{port}"


def _node(row: dict[str, Any]) -> RayNode:
    total = _at(row, "resources_total", "GPU")
    gpus = float(total) if isinstance(total, int | float) else 0.0
    return RayNode(_text(row, "node_id"), _text(row, "node_ip"), _text(row, "state"), gpus, _text(row, "state_message"))


def _job(row: dict[str, Any]) -> RayJob:
    return RayJob(_text(row, "submission_id") or _text(row, "job_id"), _text(row, "status"), _text(row, "message"))


def _applications(serve: Any) -> Iterator[RayApplication]:
    for name, app in _named(_at(serve, "applications")):
        configs = _listed(_at(app, "deployed_app_config", "args", "llm_configs"))
        engines = [engine for config in configs if isinstance(engine := config.get("engine_kwargs"), dict)]
        # Several models in one application: whose arguments they are is not told here.
        argv = words_of(engines[0]) if len(engines) == 1 else ()
        yield RayApplication(name, _text(app, "status"), _text(app, "message"), argv)


def _deployments(serve: Any) -> Iterator[RayDeployment]:
    for application, app in _named(_at(serve, "applications")):
        for name, row in _named(_at(app, "deployments")):
            wanted = row.get("target_num_replicas")
            replicas = tuple(
                RayReplica(_text(one, "replica_id"), _text(one, "state"), _text(one, "node_ip"))
                for one in _listed(row.get("replicas"))
            )
            yield RayDeployment(
                application,
                name,
                _text(row, "status"),
                _text(row, "message"),
                wanted if isinstance(wanted, int) else None,
                replicas,
            )


def _demand(status: Any) -> Iterator[str]:
    """What waits for resources: single requests and placement groups, each with its shapes and counts."""
    report = _at(status, "data", "clusterStatus", "loadMetricsReport")
    for kind, what in (("resourceDemand", "tasks or actors"), ("pgDemand", "placement groups")):
        for entry in (_at(report, kind) or ())[:20] if isinstance(_at(report, kind), list) else ():
            shape = msgspec.json.encode(entry).decode("utf-8", "replace")[:_TEXT]
            yield f"{what} {shape}"


def _rows(answer: Any) -> list[dict[str, Any]]:
    """The rows of an answer of the state API."""
    return _listed(_at(answer, "data", "result", "result"))


def _listed(found: Any) -> list[dict[str, Any]]:
    return [row for row in found[:_MOST] if isinstance(row, dict)] if isinstance(found, list) else []


def _named(found: Any) -> list[tuple[str, dict[str, Any]]]:
    rows = list(found.items())[:_MOST] if isinstance(found, dict) else []
    return [(str(name), row) for name, row in rows if isinstance(row, dict)]


def _at(data: Any, *names: str) -> Any:
    for name in names:
        data = data.get(name) if isinstance(data, dict) else None
    return data


def _text(row: dict[str, Any], name: str) -> str:
    value = row.get(name)
    return value[:_TEXT] if isinstance(value, str) else ""
