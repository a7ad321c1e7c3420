"""The pods of a Deployment to recordings: their pages through the API server's proxy, their logs, their events."""

from __future__ import annotations

import asyncio
import time
from typing import Any
from urllib.parse import quote

import msgspec

from whystall.errors import AccessDenied, NotMetrics, TooLittleData, Unavailable, UsageError, WhystallError
from whystall.model.recording import FailedScrape, InputWarning, LogLine, Recording, SeriesTable
from whystall.model.target import Target
from whystall.model.text import Text
from whystall.sources.files.recording import log_anchor
from whystall.sources.live.access import Access
from whystall.sources.live.address import Address
from whystall.sources.live.collector import CollectSpec, collect
from whystall.sources.live.http import Answer, Session
from whystall.sources.live.scrubber import mask_secrets
from whystall.sources.log import read_log

from .connection import connection
from .pods import Pod, event_warnings, pods_of
from .question import PodQuestion

_LIMIT = 32 * 1024 * 1024
_LOG_BYTES = 8 * 1024 * 1024
MOST_PODS = 64
_OK, _MISSING = 200, 404
_RIGHTS = "the account needs get on deployments, pods, pods/proxy, pods/log and list on events in this namespace"
_AWAY = Text("{pod} gave no page: {why}", "{pod} 没有给出指标页：{why}")


async def read_kubernetes(
    question: PodQuestion, seconds: float, interval_s: float, access: Access, target: str
) -> dict[str, Recording]:
    """Watch the pods for ``seconds``: pod -> its recording. A pod without a page has its log alone.

    Raises UsageError for what is not there, AccessDenied, TooLittleData where no pod runs an engine, and what the session
    raises.
    """
    with connection(question.api, question.context, access) as (address, own):
        async with Session(address, own) as session:
            pods = await list_pods(session, question)
            events = await list_events(session, question)
            spec = CollectSpec("", seconds, interval_s, own, beside=False)
            seen = await asyncio.gather(*(_watch(session, question, pod, spec) for pod in pods[:MOST_PODS]))
    told = event_warnings(events, {pod.name for pod in pods})
    states = tuple(warning for pod in pods for warning in pod.warnings)
    if not any(len(one.metrics.times) or one.log for one in seen):
        raise _nothing(question, pods, (*states, *told, *(warning for one in seen for warning in one.warnings)))
    return {
        pod.name: msgspec.structs.replace(
            one, target=Target(f"{target} {pod.name}"), warnings=(*one.warnings, *states, *told)
        )
        for pod, one in zip(pods, seen, strict=False)
        if len(one.metrics.times) or one.log
    }


async def list_events(session: Session, question: PodQuestion) -> list[Any]:
    """The namespace's events as they are told. Raises as :func:`list_pods`."""
    return _items(await _asked(session, f"{_space(question)}/events?limit=500"))


def way_of(question: PodQuestion, pod: Pod) -> str:
    """The pod's path at the API server; its page is at ``:PORT/proxy`` behind it, its log at ``/log``."""
    return f"{_space(question)}/pods/{quote(pod.name, safe='')}"


async def list_pods(session: Session, question: PodQuestion) -> list[Pod]:
    """The pods that are asked for. Raises TooLittleData where there is none with an engine, UsageError for a Deployment
    that is not there, AccessDenied, Unavailable and what the session raises."""
    path = f"{_space(question)}/pods?limit=500"
    if question.deployment:
        name = quote(question.deployment, safe="")
        found = await _asked(
            session, f"/apis/apps/v1/namespaces/{quote(question.namespace, safe='')}/deployments/{name}"
        )
        path += f"&labelSelector={quote(_selector(found), safe='')}"
    pods = pods_of(_items(await _asked(session, path)), question.container, question.port, not question.deployment)
    if not pods:
        where = f"the Deployment {question.deployment}" if question.deployment else f"namespace {question.namespace}"
        raise TooLittleData(f"{where} has no pod with an engine", "check the name, replicas and container=")
    return pods


def _selector(deployment: dict[str, Any]) -> str:
    spec = deployment.get("spec")
    selector = spec.get("selector") if isinstance(spec, dict) else None
    labels = selector.get("matchLabels") if isinstance(selector, dict) else None
    if not isinstance(labels, dict) or not labels:
        raise UsageError("the Deployment selects its pods without matchLabels", "name the namespace: k8s://namespace")
    return ",".join(f"{name}={value}" for name, value in sorted(labels.items()))


async def _watch(session: Session, question: PodQuestion, pod: Pod, spec: CollectSpec) -> Recording:
    way = way_of(question, pod)
    page = f"{session.address.base}{way}:{pod.port}/proxy"
    try:
        seen = await collect(msgspec.structs.replace(spec, target=page))
    except WhystallError as error:
        failed = (FailedScrape(time.time(), type(error).__name__),)
        nothing = msgspec.structs.replace(SeriesTable.empty(), failed=failed)
        why = InputWarning("pod_away", _AWAY.format(pod=pod.name, why=error.message))
        seen = Recording(Target(page), nothing, warnings=(why,))
    log = await _log(session, way, pod, seen.metrics)
    return msgspec.structs.replace(seen, argv=mask_secrets(pod.argv) or seen.argv, log=(*log, *pod.lines))


async def _log(session: Session, way: str, pod: Pod, metrics: SeriesTable) -> tuple[LogLine, ...]:
    """The container's log; of one that was restarted first that of the run before, which says why."""
    path = f"{way}/log?container={quote(pod.container, safe='')}&limitBytes={_LOG_BYTES}"
    lines: list[str] = []
    for asked in ([f"{path}&previous=true"] if pod.restarts else []) + [path]:
        try:
            answer = await session.get(asked, _LIMIT)
        except WhystallError:
            continue  # the page says more than the log; without either the pod is named as away
        if answer.status == _OK and answer.body.strip():
            lines += answer.body.decode("utf-8", "replace").split("\n")
    return read_log(lines, log_anchor(metrics)) if lines else ()


async def _asked(session: Session, path: str) -> dict[str, Any]:
    answer = await session.get(path, _LIMIT)
    if answer.status in (401, 403):
        raise AccessDenied(f"{session.address.base} answered {answer.status}: {_message(answer)}", _RIGHTS)
    if answer.status == _MISSING:
        raise UsageError(f"the cluster has no {path.partition('?')[0]}: {_message(answer)}", "check the target's names")
    if answer.status != _OK:
        raise Unavailable(f"{session.address.base} answered {answer.status}: {_message(answer)}", "try again")
    return _object(answer, session.address)


def _object(answer: Answer, address: Address) -> dict[str, Any]:
    try:
        return msgspec.json.decode(answer.body, type=dict[str, Any])
    except (msgspec.DecodeError, RecursionError) as error:
        what = "half an answer" if "truncated" in str(error) else "no answer of an API server"
        raise NotMetrics(f"{address.base} gave {what}", "check api= or the kubeconfig") from None


def _message(answer: Answer) -> str:
    try:
        return str(msgspec.json.decode(answer.body, type=dict[str, Any]).get("message", ""))[:200]
    except (msgspec.DecodeError, RecursionError):
        return ""


def _items(found: dict[str, Any]) -> list[Any]:
    items = found.get("items")
    return items if isinstance(items, list) else []


def _space(question: PodQuestion) -> str:
    return f"/api/v1/namespaces/{quote(question.namespace, safe='')}"


def _nothing(question: PodQuestion, pods: list[Pod], said: tuple[InputWarning, ...]) -> TooLittleData:
    why = "; ".join(warning.text.en for warning in said[:5]) or "no page and no log"
    where = f"{question.namespace}/{question.deployment}".rstrip("/")
    return TooLittleData(f"none of the {len(pods)} pods of {where} tells anything: {why}", _RIGHTS)
