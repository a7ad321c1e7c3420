"""The part of a Kubernetes API server that a Deployment needs: JSON patches all or nothing, schemas, and a rollout."""

from __future__ import annotations

import copy
import json
from typing import Any

from aiohttp import web

TOKEN = "kubernetes-token"
NAMESPACE, NAME = "llm", "vllm"
PATH = f"/apis/apps/v1/namespaces/{NAMESPACE}/deployments/{NAME}"
PODS = f"/api/v1/namespaces/{NAMESPACE}/pods"
READS_UNTIL_DONE = 3


def deployment(**container: Any) -> dict[str, Any]:
    labels = {"app": "vllm"}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": NAME, "namespace": NAMESPACE, "generation": 1, "labels": labels},
        "spec": {
            "replicas": 2,
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {"containers": [{"name": "proxy", "image": "p"}, {"name": "vllm", "image": "v", **container}]},
            },
        },
        "status": {
            "observedGeneration": 1,
            "replicas": 2,
            "updatedReplicas": 2,
            "availableReplicas": 2,
            "conditions": [{"type": "Progressing", "status": "True", "reason": "NewReplicaSetAvailable"}],
        },
    }


class FakeKubernetes:
    """``bad`` is a word that keeps a pod from becoming ready when it stands among the arguments."""

    def __init__(self, first: dict[str, Any], bad: str = "--bad") -> None:
        self.object = first
        self.bad = bad
        self.patches: list[list[dict[str, Any]]] = []
        self.before_patch = lambda: None  # what somebody else does just before a patch comes
        self._reads = 0

    async def handler(self, request: web.Request) -> web.Response:
        if request.headers.get("Authorization") != f"Bearer {TOKEN}":
            return _status(401, "Unauthorized")
        if request.path == PODS and request.method == "GET":
            return self._pods(request)
        if request.path != PATH:
            return _status(404, f'deployments.apps "{request.path}" not found')
        if request.method == "GET":
            self._roll()
            return web.json_response(self.object)
        if request.method == "PATCH":
            return await self._patch(request)
        return _status(405, "method not allowed")

    async def _patch(self, request: web.Request) -> web.Response:
        if request.content_type != "application/json-patch+json":
            return _status(415, f"the body of the request was in an unknown format: {request.content_type}")
        self.before_patch()
        operations = json.loads(await request.read())
        wanted = copy.deepcopy(self.object)
        for operation in operations:
            try:
                _apply(wanted, operation)
            except (KeyError, IndexError, ValueError) as error:
                return _status(422, f"the server rejected our request due to an error in our request: {error}")
        wrong = _invalid(wanted)
        if wrong:
            return _status(422, wrong)
        self.patches.append(operations)
        if wanted["spec"] != self.object["spec"]:
            wanted["metadata"]["generation"] += 1
            self._reads = 0
        self.object = wanted
        return web.json_response(wanted)

    def _roll(self) -> None:
        """Each read sees the rollout a step on: not observed, half done, done or failed."""
        status, generation = self.object["status"], self.object["metadata"]["generation"]
        self._reads += 1
        if self._reads == 2:
            status["observedGeneration"] = generation
            status["updatedReplicas"] = status["availableReplicas"] = 1
            status["conditions"] = [{"type": "Progressing", "status": "True", "reason": "ReplicaSetUpdated"}]
        if self._reads > READS_UNTIL_DONE:
            bad = self.bad in json.dumps(self.object["spec"])
            status["updatedReplicas"] = 2
            status["availableReplicas"] = 1 if bad else 2
            reason = "ProgressDeadlineExceeded" if bad else "NewReplicaSetAvailable"
            status["conditions"] = [{"type": "Progressing", "reason": reason, "message": f"ReplicaSet {reason}"}]

    def _pods(self, request: web.Request) -> web.Response:
        assert request.query["labelSelector"] == "app=vllm"
        ended = {"terminated": {"reason": "OOMKilled", "exitCode": 137}}
        status = {"containerStatuses": [{"name": "vllm", "state": {}, "lastState": ended}]}
        return web.json_response({"kind": "PodList", "items": [{"metadata": {"name": "vllm-1"}, "status": status}]})

    @property
    def container(self) -> dict[str, Any]:
        found: dict[str, Any] = self.object["spec"]["template"]["spec"]["containers"][1]
        return found


def _apply(document: Any, operation: dict[str, Any]) -> None:
    """RFC 6902."""
    *way, last = (part.replace("~1", "/").replace("~0", "~") for part in operation["path"].split("/")[1:])
    place = document
    for part in way:
        place = place[int(part)] if isinstance(place, list) else place[part]
    key: Any = int(last) if isinstance(place, list) else last
    kind = operation["op"]
    if kind == "test":
        if place[key] != operation["value"]:
            raise ValueError(f"testing value {operation['path']} failed")
    elif kind == "replace":
        place[key]  # it must be there
        place[key] = operation["value"]
    elif kind == "add":
        place[key] = operation["value"]
    elif kind == "remove":
        del place[key]
    else:
        raise ValueError(f"unknown operation {kind}")


def _invalid(wanted: dict[str, Any]) -> str:
    """What the API's schema refuses of a container, and of a strategy."""
    strategy = wanted["spec"].get("strategy", {})
    rolling = strategy.get("rollingUpdate", {})
    if strategy.get("type", "RollingUpdate") not in ("RollingUpdate", "Recreate") or set(rolling) - {
        "maxSurge",
        "maxUnavailable",
    }:
        return "spec.strategy: Unsupported value"
    if strategy.get("type") == "Recreate" and rolling:
        return "spec.strategy.rollingUpdate: Forbidden: may not be specified when strategy `type` is 'Recreate'"
    if rolling and not rolling.get("maxSurge") and not rolling.get("maxUnavailable"):
        return "spec.strategy.rollingUpdate.maxUnavailable: Invalid value: may not be 0 when `maxSurge` is 0"
    for container in wanted["spec"]["template"]["spec"]["containers"]:
        extra = set(container) - {"name", "image", "command", "args", "env", "resources", "ports"}
        if extra:
            return f"strict decoding error: unknown field {extra}"
        for field in ("command", "args"):
            words = container.get(field, [])
            if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
                return f"spec.template.spec.containers.{field}: must be a list of strings"
    return ""


def _status(code: int, message: str) -> web.Response:
    return web.json_response({"kind": "Status", "status": "Failure", "code": code, "message": message}, status=code)
