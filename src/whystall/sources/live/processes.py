"""The processes of a server on this host: found by its port, told apart by their titles."""

from __future__ import annotations

import contextlib
import re

import msgspec
import psutil

_TITLE = "VLLM::"
_ROLES = (("APIServer", "api"), ("EngineCore", "engine"), ("Worker", "worker"))
_SERVER = re.compile(r"\bvllm\b|sglang|\bray::", re.IGNORECASE)
_PROXIES = frozenset(("nginx", "haproxy", "envoy", "traefik", "caddy", "docker-proxy"))
# Programs that listen here for a server that is elsewhere.
_TUNNELS = frozenset(
    (
        "ssh",
        "sshd",
        "autossh",
        "kubectl",
        "oc",
        "k9s",
        "kubefwd",
        "socat",
        "chisel",
        "cloudflared",
        "tsh",
        "code",
        "node",
    )
)
_MAX_PROCESSES = 256


class ServerProcess(msgspec.Struct, frozen=True):
    """One process: ``name`` as vLLM titles it (``EngineCore_DP0``), ``role`` one of ``api engine worker other``."""

    pid: int
    name: str
    role: str


class ServerProcesses(msgspec.Struct, frozen=True):
    """The processes of one server, its listener first, and its command line where it can be read."""

    processes: tuple[ServerProcess, ...] = ()
    argv: tuple[str, ...] = ()
    missing: str = ""  # why nothing was found
    elsewhere: bool = False  # a tunnel listens, so the server is on another host


def find_server(port: int) -> ServerProcesses:
    """The processes of the server that listens on ``port``. Never needs root: what it may not see is left out."""
    listeners = _listeners(port)
    if not listeners:
        return ServerProcesses(missing=f"no process that may be seen listens on port {port}")
    if all(_name(process) in _TUNNELS for process in listeners):
        tunnel = _name(listeners[0])
        return ServerProcesses(missing=f"port {port} is a tunnel ({tunnel}); the server is elsewhere", elsewhere=True)
    roots = {root.pid: root for root in map(_root, listeners)}
    members = {process.pid: process for root in roots.values() for process in _tree(root)}
    if all(_name(process) in _PROXIES for process in listeners):
        members |= {process.pid: process for process in _titled()}
    pids = {process.pid for process in listeners}
    ordered = sorted(members.values(), key=lambda p: (p.pid not in pids, p.pid))[:_MAX_PROCESSES]
    described = tuple(_described(process, process.pid in pids) for process in ordered)
    return ServerProcesses(described, _argv([*roots.values(), *listeners]))


def _listeners(port: int) -> list[psutil.Process]:
    """With the rights of a normal user the pids of other users' sockets are unknown."""
    try:
        connections = psutil.net_connections("tcp")
    except psutil.AccessDenied:
        return []
    pids = {c.pid for c in connections if c.status == psutil.CONN_LISTEN and c.laddr and c.laddr.port == port}
    found = []
    for pid in sorted(pid for pid in pids if pid):
        with contextlib.suppress(psutil.Error):
            found.append(psutil.Process(pid))
    return found


def _root(process: psutil.Process) -> psutil.Process:
    """The topmost process of the same server: several API servers have one parent."""
    with contextlib.suppress(psutil.Error):
        parent = process.parent()
        while parent is not None and parent.pid > 1 and _is_server(parent):
            process, parent = parent, parent.parent()
    return process


def _is_server(process: psutil.Process) -> bool:
    """A Python of the server, not a shell or a launcher that has the server's name in its arguments."""
    line = _cmdline(process)
    return bool(line) and (
        line[0].startswith(_TITLE) or ("python" in _name(process) and bool(_SERVER.search(" ".join(line))))
    )


def _tree(root: psutil.Process) -> list[psutil.Process]:
    try:
        return [root, *root.children(recursive=True)]
    except psutil.Error:
        return [root]


def _titled() -> list[psutil.Process]:
    """Every vLLM process of the host, for a server that a proxy listens for."""
    return [process for process in psutil.process_iter() if _title(process).startswith(_TITLE)]


def _described(process: psutil.Process, listens: bool) -> ServerProcess:
    name, role = role_of(_title(process), listens)
    return ServerProcess(process.pid, name, role)


def role_of(title: str, listens: bool) -> tuple[str, str]:
    """Name and role by a process's title; the listener is the API server whatever it is called."""
    if title.startswith(_TITLE):
        name = title.removeprefix(_TITLE).split(" ")[0]
        return name, next((role for start, role in _ROLES if name.startswith(start)), "other")
    return ("APIServer", "api") if listens else ("helper", "other")


def _title(process: psutil.Process) -> str:
    line = _cmdline(process)
    return line[0] if line else ""


def _name(process: psutil.Process) -> str:
    try:
        return process.name()
    except psutil.Error:
        return ""


def _cmdline(process: psutil.Process) -> list[str]:
    try:
        return process.cmdline()
    except psutil.Error:
        return []


def _argv(candidates: list[psutil.Process]) -> tuple[str, ...]:
    """The server's command line, unless its title was written over it."""
    for process in candidates:
        line = _cmdline(process)
        if len(line) > 1 and not line[0].startswith(_TITLE) and _SERVER.search(" ".join(line[:4])):
            return tuple(line)
    return ()
