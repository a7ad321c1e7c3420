"""A Ray Serve application with an LLM, by the dashboard's REST API: the engine's arguments in its configuration.

The API is declarative: what is sent is all that shall run, so every other application's configuration is sent as it is.
"""

from __future__ import annotations

import asyncio
import copy
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from whystall.errors import ChangeFailed, InputError, UsageError
from whystall.sources.arguments import flag_name
from whystall.sources.dialects.vllm_flags import SWITCHES
from whystall.sources.live.access import Access
from whystall.sources.live.address import Address
from whystall.sources.live.http import Answer, Session
from whystall.sources.ray.engine_arguments import words_of

from .actuator import Plan, Readiness, Snapshot
from .spec import RayServeSpec

_PATH = "/api/serve/applications/"
_EVERY_S = 1.0
_TOP = ("proxy_location", "http_options", "grpc_options", "logging_config")  # what a configuration may say beside them
_OVER = {"DEPLOY_FAILED", "UNHEALTHY", "DELETING"}
_OK = 200
# Serve's own rolling update (Ray's documentation, "Updating a deployment"): no field of its configuration says which
# replica goes first or that the others wait, so nothing here can.
_PACE = (
    "Of several replicas Ray Serve itself takes down a fifth at a time (one of up to nine); its API cannot hold the "
    "others back until the first has proven itself. To try one first, deploy it as an application of its own."
)


class RayServe:
    """One application; its LLM is the only one, or the one whose ``model_id`` is named."""

    kind = "ray_serve"
    live = True

    def __init__(self, spec: RayServeSpec, start_s: float, every_s: float = _EVERY_S) -> None:
        self.spec = spec
        self.start_s = start_s
        self.every_s = every_s
        self.target = f"ray_serve:{spec.api}/{spec.application}"

    async def snapshot(self) -> Snapshot:
        """The application's configuration; its engine's arguments as a command line."""
        saved = await self._deployed()
        return Snapshot(words_of(self._engine(saved)), msgspec.json.encode(saved, order="sorted").decode())

    async def plan(self, before: Snapshot, flags: Mapping[str, str]) -> Plan:
        """The PUT and the part of its body that differs."""
        saved = _saved(before)
        wanted = self._changed(saved, flags)
        old, new = self._engine(saved), self._engine(wanted)
        if old == new:
            raise UsageError(f"{self.spec.application} has these engine_kwargs already", "There is nothing to change.")
        text = f"{self._request(new)}\n{_PACE}"
        return Plan(before, words_of(new), text, self._request(old), dict(flags))

    def _request(self, engine: dict[str, Any]) -> str:
        body = msgspec.json.format(msgspec.json.encode(engine), indent=2).decode()
        return (
            f"PUT {self.spec.api}{_PATH}\nevery application as it is, but of {self.spec.application}:\n"
            f"engine_kwargs = {body}"
        )

    async def apply(self, plan: Plan) -> None:
        """Send the configuration with the changed engine."""
        saved = _saved(plan.before)
        await self._put(self._changed(saved, plan.flags), of=saved)

    async def roll_back(self, before: Snapshot) -> None:
        """Send the configuration of before."""
        await self._put(_saved(before))

    def _changed(self, saved: dict[str, Any], flags: Mapping[str, str]) -> dict[str, Any]:
        wanted = copy.deepcopy(saved)
        engine = self._engine(wanted)
        for flag, value in flags.items():
            name = flag_name(flag)
            engine.pop(name, None)
            if value:
                engine[name] = not flag.startswith("--no-") if name in SWITCHES and value == "true" else _typed(value)
        return wanted

    async def _put(self, wanted: dict[str, Any], of: dict[str, Any] | None = None) -> None:
        found = await self._read()
        configs = {name: _config(name, app) for name, app in _applications(found).items()}
        now = configs.get(self.spec.application)
        if now == wanted:
            return
        if of is not None and now != of:
            raise ChangeFailed(
                f"{self.spec.application} was deployed anew by somebody else meanwhile",
                "Nothing was changed. Look at it, then run fix again.",
            )
        configs[self.spec.application] = wanted
        body = {name: found[name] for name in _TOP if found.get(name) is not None}
        async with self._session() as session:
            answer = await session.send("PUT", _PATH, {**body, "applications": list(configs.values())})
        if answer.status != _OK:
            raise ChangeFailed(
                f"Ray Serve refused the configuration: HTTP {answer.status} {_said(answer)}", "Nothing was changed."
            )

    async def healthy(self) -> Readiness:
        """Watch the application until it runs, or has failed."""
        loop = asyncio.get_running_loop()
        end = loop.time() + self.start_s
        while True:
            app = _applications(await self._read()).get(self.spec.application) or {}
            status, message = str(app.get("status", "")), str(app.get("message", ""))[:300]
            if status == "RUNNING":
                return Readiness(True)
            if status in _OVER:
                return Readiness(False, f"{status}: {message}", "out of memory" in message.lower())
            if loop.time() >= end:
                return Readiness(False, f"still {status or 'away'} after {self.start_s:g} s: {message}")
            await asyncio.sleep(self.every_s)

    # -- the API

    def _session(self) -> Session:
        token = (
            Path(self.spec.token_file).expanduser().read_text(encoding="ascii").strip() if self.spec.token_file else ""
        )
        ca = Path(self.spec.ca).expanduser() if self.spec.ca else None
        return Session(Address.parse(self.spec.api), Access(token=token, ca=ca))

    async def _read(self) -> dict[str, Any]:
        async with self._session() as session:
            answer = await session.get(_PATH)
        if answer.status != _OK:
            raise ChangeFailed(f"Ray Serve's API answered {answer.status}", "Check `api`: the dashboard, port 8265.")
        return _json(answer)

    async def _deployed(self) -> dict[str, Any]:
        applications = _applications(await self._read())
        if self.spec.application not in applications:
            raise UsageError(
                f"Ray Serve has no application {self.spec.application!r}", f"It has: {', '.join(sorted(applications))}."
            )
        saved = _config(self.spec.application, applications[self.spec.application])
        self._engine(saved)
        return saved

    def _engine(self, saved: dict[str, Any]) -> dict[str, Any]:
        """The ``engine_kwargs`` of the application's LLM, in place."""
        arguments = saved.get("args")
        configs = arguments.get("llm_configs") if isinstance(arguments, dict) else None
        found = [c for c in configs or () if isinstance(c, dict) and self.spec.model in ("", _model_id(c))]
        if len(found) != 1:
            raise UsageError(
                f"the application {self.spec.application} holds {len(found)} such LLM configurations in args.llm_configs",
                "Set `model` to the model_id; configurations in files of their own are changed there.",
            )
        engine = found[0].setdefault("engine_kwargs", {})
        if not isinstance(engine, dict):
            raise InputError("engine_kwargs is no mapping", "See Ray Serve's LLMConfig.")
        return engine


def _applications(found: dict[str, Any]) -> dict[str, dict[str, Any]]:
    applications = found.get("applications")
    if not isinstance(applications, dict):
        raise InputError("Ray Serve's answer names no applications", "Check `api`: the dashboard, port 8265.")
    return {name: app for name, app in applications.items() if isinstance(app, dict)}


def _config(name: str, application: dict[str, Any]) -> dict[str, Any]:
    config = application.get("deployed_app_config")
    if not isinstance(config, dict):
        raise UsageError(
            f"the application {name} was deployed from Python, not from a configuration",
            "Sending a configuration would end it. Deploy every application with `serve deploy` first.",
        )
    return config


def _model_id(config: dict[str, Any]) -> str:
    loading = config.get("model_loading_config")
    return str(loading.get("model_id", "")) if isinstance(loading, dict) else ""


def _typed(value: str) -> Any:
    """A number or a JSON object as such, anything else as text."""
    try:
        found = msgspec.json.decode(value.encode())
    except msgspec.MsgspecError:
        return value
    return found if isinstance(found, int | float | dict | list) else value


def _json(answer: Answer) -> dict[str, Any]:
    try:
        found: dict[str, Any] = msgspec.json.decode(answer.body, type=dict[str, Any])
    except msgspec.MsgspecError as error:
        raise InputError(f"Ray Serve's answer is no JSON object: {error}", "Check `api`.") from error
    return found


def _said(answer: Answer) -> str:
    return answer.body.decode("utf-8", "replace")[:300]


def _saved(before: Snapshot) -> dict[str, Any]:
    return msgspec.json.decode(before.saved, type=dict[str, Any])
