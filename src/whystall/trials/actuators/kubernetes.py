"""A Kubernetes Deployment by its REST API: a patch that holds only if nobody changed it meanwhile, and the rollout."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

import msgspec

from whystall.errors import ChangeFailed, InputError, Refused, UsageError
from whystall.sources.live.access import Access
from whystall.sources.live.address import Address
from whystall.sources.live.http import Answer, Session
from whystall.sources.live.scrubber import mask_secrets

from .actuator import Plan, Readiness, Snapshot
from .arguments import Shape, changed
from .spec import KubernetesSpec

_PATCH = "application/json-patch+json"
_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
_EVERY_S = 1.0
_STRATEGY = "/spec/strategy"
_OK, _CREATED, _CONFLICT, _INVALID = 200, 201, 409, 422
# Who sees these on an object deploys it from elsewhere, and puts back what is changed here.
_OWNED_BY = {
    "argocd.argoproj.io/instance": "Argo CD",
    "argocd.argoproj.io/tracking-id": "Argo CD",
    "kustomize.toolkit.fluxcd.io/name": "Flux",
    "helm.toolkit.fluxcd.io/name": "Flux",
    "serving.kserve.io/inferenceservice": "KServe",
}


class _Saved(msgspec.Struct):
    """The container's place and how it is started; None where the image's own is used. ``strategy`` is how pods are
    replaced, of so many ``replicas``."""

    container: str
    index: int
    command: list[str] | None
    args: list[str] | None
    strategy: dict[str, Any] | None = None
    replicas: int = 1


class Kubernetes:
    """One container of a Deployment."""

    kind = "kubernetes"
    live = True

    def __init__(self, spec: KubernetesSpec, start_s: float, every_s: float = _EVERY_S) -> None:
        self.spec = spec
        self.start_s = start_s
        self.every_s = every_s
        self.api = spec.api or _in_cluster()
        self.path = f"/apis/apps/v1/namespaces/{quote(spec.namespace, '')}/deployments/{quote(spec.deployment, '')}"
        self.target = f"kubernetes:{self.api}{self.path}"

    async def snapshot(self) -> Snapshot:
        """The container's command and args. Raises Refused where a controller would put back what is changed."""
        deployment = await self._read()
        owner = _owner(deployment)
        if owner:
            raise Refused(
                f"the Deployment {self.spec.deployment} is deployed by {owner}, which reverts changes made here",
                'Change its source: kind = "values" writes the patch for it (docs/fix.md).',
            )
        saved = _container(deployment, self.spec.container)
        return Snapshot(_shape(saved).arguments, msgspec.json.encode(saved).decode())

    async def plan(self, before: Snapshot, flags: Mapping[str, str]) -> Plan:
        """The PATCH and its body."""
        after = changed(before.arguments, flags)
        if after == before.arguments:
            raise UsageError(f"{self.spec.deployment} has these arguments already", "There is nothing to change.")
        saved = _saved(before)
        there = _one_first(_changed(saved, after))
        return Plan(before, after, self._request(saved, there), self._request(there, saved), dict(flags))

    def _request(self, old: _Saved, new: _Saved) -> str:
        body = msgspec.json.format(msgspec.json.encode(_patch(_masked(old), _masked(new))), indent=2).decode()
        return f"PATCH {self.api}{self.path}\nContent-Type: {_PATCH}\n{body}"

    async def apply(self, plan: Plan) -> None:
        """Patch; of several pods one is replaced first, and the others only once it serves."""
        saved = _saved(plan.before)
        await self._bring_about(saved, _one_first(_changed(saved, plan.after)))

    async def roll_back(self, before: Snapshot) -> None:
        """Patch back, whatever the present arguments are of what we wrote."""
        await self._bring_about(None, _saved(before))

    async def _bring_about(self, old: _Saved | None, new: _Saved) -> None:
        now = _container(await self._read(), new.container)
        if (now.command, now.args) == (new.command, new.args):
            return
        async with self._session() as session:
            answer = await session.send("PATCH", self.path, _patch(old or now, new), kind=_PATCH)
        if answer.status in (_CONFLICT, _INVALID):
            raise ChangeFailed(
                f"{self.spec.deployment} was changed by somebody else meanwhile: {_message(answer)}",
                "Nothing was changed. Look at it, then run fix again.",
            )
        _require(answer, "the patch")

    async def healthy(self) -> Readiness:
        """Watch the rollout to its end."""
        loop = asyncio.get_running_loop()
        end = loop.time() + self.start_s
        while True:
            deployment = await self._read()
            state = _rollout(deployment)
            if state.ok or state.reason:
                return state if state.ok else await self._why(deployment, state)
            if loop.time() >= end:
                late = Readiness(False, f"the rollout was not done after {self.start_s:g} s")
                return await self._why(deployment, late)
            await asyncio.sleep(self.every_s)

    async def _why(self, deployment: dict[str, Any], state: Readiness) -> Readiness:
        """With what the pods say: a container that was killed for memory, one that does not start."""
        labels = _at(deployment, "spec", "selector", "matchLabels")
        chosen = quote(",".join(f"{k}={v}" for k, v in sorted(labels.items())), "") if isinstance(labels, dict) else ""
        path = f"/api/v1/namespaces/{quote(self.spec.namespace, '')}/pods?labelSelector={chosen}"
        async with self._session() as session:
            answer = await session.get(path)
        if answer.status != _OK:  # who may patch a Deployment need not be allowed to list pods
            return state
        words = _pod_troubles(_json(answer))
        return Readiness(False, "; ".join([state.reason, *words]), any("OOMKilled" in word for word in words))

    # -- the API

    def _session(self) -> Session:
        inside = not self.spec.api
        token = self.spec.token_file or (str(_ACCOUNT / "token") if inside else "")
        ca = self.spec.ca or (str(_ACCOUNT / "ca.crt") if inside else "")
        return Session(Address.parse(self.api), Access(token=_token(token), ca=Path(ca).expanduser() if ca else None))

    async def _read(self) -> dict[str, Any]:
        async with self._session() as session:
            answer = await session.get(self.path)
        _require(answer, f"the Deployment {self.spec.namespace}/{self.spec.deployment}")
        return _json(answer)


def _patch(old: _Saved, new: _Saved) -> list[dict[str, Any]]:
    """It fails as a whole where the container is not, any more, as it was seen."""
    at = f"/spec/template/spec/containers/{new.index}"
    body: list[dict[str, Any]] = [{"op": "test", "path": f"{at}/name", "value": new.container}]
    for field in ("command", "args"):
        was, is_ = getattr(old, field), getattr(new, field)
        if was == is_:
            continue
        if was is not None:
            body.append({"op": "test", "path": f"{at}/{field}", "value": was})
        if is_ is None:
            body.append({"op": "remove", "path": f"{at}/{field}"})
        else:
            body.append({"op": "add" if was is None else "replace", "path": f"{at}/{field}", "value": is_})
    return body + _strategy(old.strategy, new.strategy)


def _strategy(old: dict[str, Any] | None, new: dict[str, Any] | None) -> list[dict[str, Any]]:
    if old == new:
        return []
    if new is None:
        return [{"op": "remove", "path": _STRATEGY}]
    return [{"op": "add" if old is None else "replace", "path": _STRATEGY, "value": new}]


def _one_first(saved: _Saved) -> _Saved:
    """Of several replicas one at a time, and the next only once that one is available: with what keeps a pod from
    starting, all but one go on as they were. Where no pod may come on top (GPUs are seldom spare) none does."""
    if saved.replicas < 2:
        return saved
    kind, rolling = _at(saved.strategy, "type"), _at(saved.strategy, "rollingUpdate") or {}
    spare = kind != "Recreate" and rolling.get("maxSurge", "25%") not in (0, "0%")
    limits = {"maxSurge": 1, "maxUnavailable": 0} if spare else {"maxSurge": 0, "maxUnavailable": 1}
    return msgspec.structs.replace(saved, strategy={"type": "RollingUpdate", "rollingUpdate": limits})


def _container(deployment: dict[str, Any], name: str) -> _Saved:
    containers = _at(deployment, "spec", "template", "spec", "containers")
    found = [(i, c) for i, c in enumerate(containers or ()) if isinstance(c, dict) and name in ("", c.get("name"))]
    if len(found) != 1:
        names = [c.get("name") for c in containers or () if isinstance(c, dict)]
        raise UsageError(
            f"the Deployment's containers are {names}, not one {name!r}", "Set `container` to one of them."
        )
    index, container = found[0]
    count = _at(deployment, "spec", "replicas")
    whole = {"strategy": _at(deployment, "spec", "strategy"), "replicas": 1 if count is None else count}
    try:
        return msgspec.convert(
            {"container": container.get("name"), "index": index, **_started(container), **whole}, _Saved
        )
    except msgspec.ValidationError as error:
        raise InputError(f"the container is not as Kubernetes describes it: {error}", "Check `api`.") from error


def _started(container: dict[str, Any]) -> dict[str, Any]:
    return {"command": container.get("command"), "args": container.get("args")}


def _shape(saved: _Saved) -> Shape:
    return Shape(saved.command or [], saved.args or [])


def _masked(saved: _Saved) -> _Saved:
    return _changed(saved, mask_secrets(_shape(saved).arguments))


def _changed(saved: _Saved, after: tuple[str, ...]) -> _Saved:
    command, args = _shape(saved).holding(after)
    return msgspec.structs.replace(
        saved,
        command=command if saved.command is not None else None,
        args=args if args or saved.args is not None else None,
    )


def _rollout(deployment: dict[str, Any]) -> Readiness:
    """``ok`` once every replica is new and available; a reason where it will never be; neither while it goes on."""
    generation, status = _at(deployment, "metadata", "generation"), _at(deployment, "status") or {}
    if status.get("observedGeneration", 0) < (generation or 0):
        return Readiness(False)
    for condition in status.get("conditions") or ():
        if condition.get("type") == "Progressing" and condition.get("reason") == "ProgressDeadlineExceeded":
            return Readiness(False, f"the rollout failed: {condition.get('message', '')[:300]}")
    wanted = _at(deployment, "spec", "replicas")
    wanted = 1 if wanted is None else wanted
    counts = [status.get(name, 0) for name in ("replicas", "updatedReplicas", "availableReplicas")]
    return Readiness(all(count == wanted for count in counts))


def _pod_troubles(pods: dict[str, Any]) -> list[str]:
    found: list[str] = []
    for pod in (pods.get("items") or ())[:100]:
        for container in _at(pod, "status", "containerStatuses") or ():
            for reason in (
                _at(container, "state", "waiting", "reason"),
                _at(container, "state", "terminated", "reason"),
                _at(container, "lastState", "terminated", "reason"),
            ):
                if reason in ("OOMKilled", "CrashLoopBackOff", "Error", "ImagePullBackOff", "ErrImagePull"):
                    found.append(f"{_at(pod, 'metadata', 'name')}: {reason}")
    return sorted(set(found))[:5]


def _owner(deployment: dict[str, Any]) -> str:
    metadata = _at(deployment, "metadata") or {}
    marks = {**(metadata.get("labels") or {}), **(metadata.get("annotations") or {})}
    named = next((owner for mark, owner in _OWNED_BY.items() if mark in marks), "")
    owners = metadata.get("ownerReferences") or ()
    return named or next((str(owner.get("kind", "a controller")) for owner in owners if owner.get("controller")), "")


def _at(data: Any, *names: str) -> Any:
    for name in names:
        data = data.get(name) if isinstance(data, dict) else None
    return data


def _json(answer: Answer) -> dict[str, Any]:
    try:
        found: dict[str, Any] = msgspec.json.decode(answer.body, type=dict[str, Any])
    except msgspec.MsgspecError as error:
        raise InputError(f"the API server's answer is no JSON object: {error}", "Check `api`.") from error
    return found


def _message(answer: Answer) -> str:
    try:
        return str(_json(answer).get("message", ""))[:300]
    except InputError:
        return f"HTTP {answer.status}"


def _require(answer: Answer, what: str) -> None:
    if answer.status not in (_OK, _CREATED):
        raise ChangeFailed(
            f"{what}: HTTP {answer.status} {_message(answer)}",
            "The account needs get and patch on deployments.apps in this namespace.",
        )


def _in_cluster() -> str:
    host, port = os.environ.get("KUBERNETES_SERVICE_HOST"), os.environ.get("KUBERNETES_SERVICE_PORT", "443")
    if not host:
        raise UsageError("no API server is known", "Set `api` in whystall.toml, for example from `kubectl proxy`.")
    return f"https://[{host}]:{port}" if ":" in host else f"https://{host}:{port}"


def _token(file: str) -> str:
    if not file:
        return ""
    try:
        return Path(file).expanduser().read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"the token file {file} cannot be read: {error}", "Check `token_file`.") from error


def _saved(before: Snapshot) -> _Saved:
    return msgspec.json.decode(before.saved, type=_Saved)
