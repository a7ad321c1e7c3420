"""A Ray dashboard made of real answers, with whatever state a test wants, and a node's page with vLLM replicas on it."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from aiohttp import web

_LINE = re.compile(r"vllm:([a-z_]+)\{([^}]*)\} (.*)")


class FakeRay:
    """``answers``: path without query -> JSON, or (status, body) as it goes out. A token is wanted where one is set."""

    def __init__(self, samples: Path, targets: list[str], token: str = "") -> None:
        self.token = token
        self.tokens_seen: set[str] = set()
        self.answers: dict[str, Any] = {
            "/api/version": _sample(samples, "version"),
            "/api/v0/nodes": _sample(samples, "v0_nodes"),
            "/api/v0/placement_groups": _sample(samples, "v0_placement_groups"),
            "/api/cluster_status": _sample(samples, "cluster_status"),
            "/api/jobs/": _sample(samples, "jobs"),
            "/api/serve/applications/": (501, (samples / "serve_applications_501.txt").read_text()),
            "/api/prometheus/sd": [{"labels": {"job": "ray"}, "targets": targets}],
            "/nodes": _sample(samples, "nodes_summary"),
            "/api/v0/tasks/timeline": _sample(samples, "v0_timeline"),
        }

    async def handler(self, request: web.Request) -> web.Response:
        if self.token and request.headers.get("Authorization") != f"Bearer {self.token}":
            return web.Response(status=401, text="Unauthorized: Missing authentication token")
        if request.path not in self.answers:
            raise web.HTTPNotFound
        answer = self.answers[request.path]
        if isinstance(answer, tuple):
            return web.Response(status=answer[0], text=answer[1])
        return web.json_response(answer)


def _sample(samples: Path, name: str) -> Any:
    return json.loads((samples / f"{name}.json").read_text())


def serve(deployment: str, replicas: list[str], status: str = "HEALTHY", **engine: Any) -> dict[str, Any]:
    """``/api/serve/applications/`` with the application ``llm``; a replica named ``x!`` is still starting."""
    rows = [
        {
            "replica_id": name.rstrip("!"),
            "state": "STARTING" if name.endswith("!") else "RUNNING",
            "node_ip": "127.0.0.1",
            "pid": 1,
        }
        for name in replicas
    ]
    config = {
        "name": "llm",
        "import_path": "ray.serve.llm:build_openai_app",
        "args": {"llm_configs": [{"model_loading_config": {"model_id": "m"}, "engine_kwargs": engine}]},
    }
    told = {
        "name": deployment,
        "status": status,
        "message": "" if status == "HEALTHY" else "The deployment failed to start 3 times in a row",
        "target_num_replicas": len(rows),
        "replicas": rows,
    }
    app = {
        "name": "llm",
        "status": "RUNNING" if status == "HEALTHY" else status,
        "message": "",
        "deployed_app_config": config,
        "deployments": {deployment: told},
    }
    return {"applications": {"llm": app}}


def ray_page(page: str, replica: str) -> str:
    """vLLM's own page as Ray's agent would export it for a replica, with what stands beside it on such a page."""
    added = (
        f'Component="core_worker",NodeAddress="10.0.0.7",ReplicaId="{replica}",SessionName="session_x",'
        f'Version="2.60.0",WorkerId="w{replica}",otel_scope_name="ray",otel_scope_schema_url="",otel_scope_version=""'
    )
    lines = [
        f"ray_vllm_{found[1]}{{{added},{found[2]}}} {found[3]}".replace(",}", "}")
        for line in page.splitlines()
        if (found := _LINE.match(line))
    ]
    beside = ['ray_node_cpu_utilization{ip="10.0.0.7"} 50.0', 'ray_node_cpu_count{ip="10.0.0.7"} 8.0']
    return "\n".join([*lines, *beside, "process_start_time_seconds 1.7e9", ""])
