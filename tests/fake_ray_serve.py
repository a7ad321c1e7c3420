"""Ray Serve's REST API as far as applications go: a declarative PUT that ends what it does not name, and its states."""

from __future__ import annotations

import copy
import json
from typing import Any

from aiohttp import web

PATH = "/api/serve/applications/"
_APPLICATION = {
    "name", "route_prefix", "import_path", "runtime_env", "host", "port", "args", "deployments", "logging_config",
    "autoscaling_policy", "external_scaler_enabled",
}  # fmt: skip
_TOP = {"proxy_location", "http_options", "grpc_options", "logging_config", "applications", "target_capacity"}


def application(name: str, **engine: Any) -> dict[str, Any]:
    llm = {"model_loading_config": {"model_id": "m8b"}, "engine_kwargs": engine, "accelerator_type": "H100"}
    return {
        "name": name,
        "route_prefix": f"/{name}",
        "import_path": "ray.serve.llm:build_openai_app",
        "args": {"llm_configs": [llm]},
    }


class FakeRayServe:
    """``bad`` is an argument of the engine with which it does not come up."""

    def __init__(self, *configs: dict[str, Any], bad: str = "bad") -> None:
        self.configs = {config["name"]: config for config in configs}
        self.bad = bad
        self.puts = 0
        self._reads = dict.fromkeys(self.configs, 9)

    async def handler(self, request: web.Request) -> web.Response:
        if request.path != PATH:
            raise web.HTTPNotFound
        if request.method == "PUT":
            return await self._put(request)
        return web.json_response(self._state())

    async def _put(self, request: web.Request) -> web.Response:
        body = json.loads(await request.read())
        wrong = _invalid(body)
        if wrong:
            return web.Response(status=400, text=f"1 validation error for ServeDeploySchema: {wrong}")
        self.puts += 1
        wanted = {config["name"]: copy.deepcopy(config) for config in body["applications"]}
        for name, config in wanted.items():
            if self.configs.get(name) != config:
                self._reads[name] = 0
        self.configs = wanted
        return web.Response()

    def _state(self) -> dict[str, Any]:
        shown = {}
        for name, config in self.configs.items():
            self._reads[name] += 1
            shown[name] = {
                "name": name,
                "route_prefix": config["route_prefix"],
                "status": self._status(name, config),
                "message": "CUDA out of memory" if self._status(name, config) == "DEPLOY_FAILED" else "",
                "deployed_app_config": config,
                "deployments": {},
            }
        return {
            "proxy_location": "EveryNode",
            "http_options": {"host": "127.0.0.1", "port": 8000},
            "controller_info": {"node_id": "n"},
            "proxies": {},
            "deploy_mode": "MULTI_APP",
            "applications": shown,
        }

    def _status(self, name: str, config: dict[str, Any]) -> str:
        if self._reads[name] < 3:
            return "DEPLOYING"
        return "DEPLOY_FAILED" if self.bad in json.dumps(config["args"]) else "RUNNING"


def _invalid(body: dict[str, Any]) -> str:
    if set(body) - _TOP or not isinstance(body.get("applications"), list):
        return f"unknown fields {set(body) - _TOP}"
    for config in body["applications"]:
        if set(config) - _APPLICATION or "import_path" not in config:
            return f"application: {set(config) - _APPLICATION}"
        for llm in config["args"]["llm_configs"]:
            if not all(isinstance(v, str | int | float | bool | dict) for v in llm.get("engine_kwargs", {}).values()):
                return "engine_kwargs"
            if not all(name.isidentifier() for name in llm.get("engine_kwargs", {})):
                return "engine_kwargs: names are those of AsyncEngineArgs"
    return ""
