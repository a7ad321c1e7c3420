"""An API server that takes no wrong path, query or token, with the pods that a test wants."""

from __future__ import annotations

import re

from aiohttp import web

from servers import counter_page

TOKEN = "pods-token"
_PODS = "/api/v1/namespaces/llm/pods"
_QUERY = {"limit", "labelSelector", "container", "limitBytes", "previous", "timestamps", "sinceTime", "tailLines"}
DEPLOYMENT = {
    "kind": "Deployment",
    "metadata": {"name": "vllm", "namespace": "llm"},
    "spec": {"selector": {"matchLabels": {"app": "vllm", "tier": "gpu"}}},
}


def pod(name, **more):
    status = {"name": "engine", "restartCount": 0, "state": {"running": {}}} | more.pop("container_status", {})
    engine = {
        "name": "engine",
        "image": "vllm/vllm-openai:v0.26.0",
        "args": ["--model", "m", "--max-num-seqs", "4", "--port", "9001"],
        "ports": [{"containerPort": 9001}],
    }
    return {
        "metadata": {"name": name, "namespace": "llm"},
        "spec": {"nodeName": "n1", "containers": [{"name": "proxy", "image": "envoy"}, engine]},
        "status": {"phase": "Running", "containerStatuses": [status], **more},
    }


class FakeApi:
    """The paths of the API that a reader needs; anything else is 404, an unknown query or a wrong token an error."""

    def __init__(self, *pods, events=()):
        self.pods, self.events = pods, events
        self.asked = []
        self.instead = None
        self.scrapes = 0
        self.logs = {}
        self.dead = set()  # pods that are listed and do not answer

    async def handler(self, request):
        self.asked.append(request.path_qs)
        if self.instead is not None:
            return self.instead()
        if request.headers.get("Authorization") != f"Bearer {TOKEN}":
            return status(401, "Unauthorized")
        proxied = re.fullmatch(rf"{_PODS}/([a-z0-9-]+):(\d+)/proxy/(\w[\w/]*)", request.path)
        if proxied:
            return self.proxied(*proxied.groups())
        if set(request.query) - _QUERY:
            return status(400, f"unknown query {set(request.query)}")
        if request.path == "/apis/apps/v1/namespaces/llm/deployments/vllm":
            return web.json_response(DEPLOYMENT)
        if request.path == _PODS:
            if request.query.get("labelSelector", "app=vllm,tier=gpu") != "app=vllm,tier=gpu":
                return status(400, "unable to parse requirement")
            return web.json_response({"kind": "PodList", "items": list(self.pods)})
        if request.path == "/api/v1/namespaces/llm/events":
            return web.json_response({"kind": "EventList", "items": list(self.events)})
        log = re.fullmatch(rf"{_PODS}/([a-z0-9-]+)/log", request.path)
        if log and request.query.get("container") == "engine":
            return web.Response(text=self.logs.get((log[1], "previous" in request.query), ""))
        return status(404, f"the server could not find the requested resource {request.path}")

    def proxied(self, name, port, path):
        if name not in {one["metadata"]["name"] for one in self.pods} or port != "9001" or name in self.dead:
            return status(503, f"error trying to reach service: dial tcp: {name}:{port}")
        if path != "metrics":
            raise web.HTTPNotFound
        self.scrapes += 1
        return web.Response(text=counter_page(10.0 * self.scrapes))


def status(code, message):
    return web.json_response({"kind": "Status", "status": "Failure", "code": code, "message": message}, status=code)
