"""Pods as the API server tells of them, as far as a diagnosis needs it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime
from typing import Any

import msgspec

from whystall.model.recording import InputWarning, LogLine
from whystall.model.text import Text

_ENGINE = re.compile(r"\b(vllm|sglang)", re.IGNORECASE)
_PORT = re.compile(r"--port[= ](\d{1,5})\b")
_TROUBLES = (
    "OOMKilled",
    "Error",
    "CrashLoopBackOff",
    "ImagePullBackOff",
    "ErrImagePull",
    "ContainerCannotRun",
    "Evicted",
)
_OVER = ("Succeeded", "Failed")  # an evicted pod stays in the list for long; another takes its place
_DEFAULT_PORT = 8000
_STATE = Text("pod {pod}: {what}", "Pod {pod}：{what}")


class Pod(msgspec.Struct, frozen=True):
    """One pod and the container of its engine. ``restarts`` are that container's.

    ``ready`` is whether its probe has let requests in, ``ending`` whether it was told to go or is over.
    """

    name: str
    node: str
    phase: str
    container: str
    argv: tuple[str, ...]
    port: int
    restarts: int
    ready: bool = False
    ending: bool = False
    warnings: tuple[InputWarning, ...] = ()
    lines: tuple[LogLine, ...] = ()

    @property
    def running(self) -> bool:
        return self.phase == "Running"


def pods_of(items: list[Any], container: str, port: int, only_engines: bool) -> list[Pod]:
    """The pods of a PodList; ``only_engines`` leaves out those whose containers name neither vLLM nor SGLang."""
    found = []
    for item in items:
        chosen = _container(item, container) if isinstance(item, dict) else None
        if chosen is not None and (not only_engines or _ENGINE.search(_words(chosen))):
            found.append(_pod(item, chosen, port))
    return found


def _container(item: dict[str, Any], name: str) -> dict[str, Any] | None:
    """The named one, else the one that names an engine, else the first."""
    rows = [row for row in _list(item, "spec", "containers") if isinstance(row, dict)]
    if name:
        return next((row for row in rows if row.get("name") == name), None)
    return next((row for row in rows if _ENGINE.search(_words(row))), rows[0] if rows else None)


def _words(container: dict[str, Any]) -> str:
    return " ".join([str(container.get("name")), str(container.get("image")), *_argv(container)])


def _argv(container: dict[str, Any]) -> tuple[str, ...]:
    parts = [container.get("command"), container.get("args")]
    return tuple(word for part in parts if isinstance(part, list) for word in part if isinstance(word, str))


def _pod(item: dict[str, Any], container: dict[str, Any], port: int) -> Pod:
    name, argv = str(_at(item, "metadata", "name") or ""), _argv(container)
    statuses = [s for s in _list(item, "status", "containerStatuses") if isinstance(s, dict)]
    status = next((s for s in statuses if s.get("name") == container.get("name")), {})
    restarts = status.get("restartCount")
    return Pod(
        name=name,
        node=str(_at(item, "spec", "nodeName") or ""),
        phase=str(_at(item, "status", "phase") or ""),
        container=str(container.get("name") or ""),
        argv=argv,
        port=port or _port(container, argv),
        restarts=restarts if isinstance(restarts, int) else 0,
        ready=_at(item, "status", "phase") == "Running" and status.get("ready") is not False,
        ending=bool(_at(item, "metadata", "deletionTimestamp")) or _at(item, "status", "phase") in _OVER,
        warnings=tuple(_troubles(name, item, status)),
        lines=tuple(_killed(name, status)),
    )


def _port(container: dict[str, Any], argv: tuple[str, ...]) -> int:
    told = _PORT.search(" ".join(argv))
    ports = [
        row for row in _list(container, "ports") if isinstance(row, dict) and isinstance(row.get("containerPort"), int)
    ]
    named = sorted(ports, key=lambda row: row.get("name") not in ("http", "metrics"))
    return int(told[1]) if told else named[0]["containerPort"] if named else _DEFAULT_PORT


def _troubles(name: str, item: dict[str, Any], status: dict[str, Any]) -> Iterator[InputWarning]:
    phase = str(_at(item, "status", "phase") or "unknown")
    reasons = [str(_at(item, "status", "reason") or "")]
    reasons += [str(_at(status, *way, "reason") or "") for way in _WAYS]
    bad = [reason for reason in dict.fromkeys(reasons) if reason in _TROUBLES]
    restarts = status.get("restartCount")
    if isinstance(restarts, int) and restarts > 0:
        bad.append(f"{restarts} restarts")
    if phase != "Running":
        bad.insert(0, f"{phase} {_scheduling(item)}".strip())
    if bad:
        yield InputWarning("pod_trouble", _STATE.format(pod=name, what=", ".join(bad)))


_WAYS = (("state", "waiting"), ("state", "terminated"), ("lastState", "terminated"))


def _scheduling(item: dict[str, Any]) -> str:
    for row in _list(item, "status", "conditions"):
        if isinstance(row, dict) and row.get("type") == "PodScheduled" and row.get("status") == "False":
            return f"({str(row.get('message') or row.get('reason') or '')[:200]})"
    return ""


def _killed(name: str, status: dict[str, Any]) -> Iterator[LogLine]:
    """The line that the node's kernel wrote, which a pod's own log does not have."""
    for way in _WAYS[1:]:
        if _at(status, *way, "reason") == "OOMKilled":
            text = f"Memory cgroup out of memory: Killed process in container {status.get('name')} of pod {name}"
            yield LogLine(moment(_at(status, *way, "finishedAt")), "ERROR", "kernel", None, text)


def event_warnings(items: list[Any], names: set[str]) -> tuple[InputWarning, ...]:
    """The Warning events of these pods, each reason once with how often it came: evictions, failed probes, scheduling."""
    found: dict[tuple[str, str], tuple[int, str]] = {}
    for item in items:
        pod = _at(item, "involvedObject", "name")
        if pod in names and _at(item, "type") == "Warning":
            count = _at(item, "count")
            key = (str(pod), str(_at(item, "reason")))
            before = found.get(key, (0, ""))[0]
            found[key] = (before + (count if isinstance(count, int) else 1), str(_at(item, "message") or "")[:200])
    return tuple(
        InputWarning("pod_event", _STATE.format(pod=pod, what=f"{reason} ×{count}: {message}"))
        for (pod, reason), (count, message) in list(found.items())[:10]
    )


def moment(text: object) -> float | None:
    """Unix seconds of a time as Kubernetes writes it; None where it is none."""
    try:
        return datetime.fromisoformat(str(text)).timestamp()
    except ValueError:
        return None


def _at(data: Any, *names: str) -> Any:
    for name in names:
        data = data.get(name) if isinstance(data, dict) else None
    return data


def _list(data: Any, *names: str) -> list[Any]:
    found = _at(data, *names)
    return found if isinstance(found, list) else []
