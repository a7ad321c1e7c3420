"""What can be read beside the server: its processes, their limits, the GPUs, its log."""

from __future__ import annotations

import time
from pathlib import Path

from whystall.errors import WhystallError
from whystall.model.checkup import Check
from whystall.model.text import Text
from whystall.sources.live.address import Address, is_this_host
from whystall.sources.live.cgroup import cpu_group
from whystall.sources.live.host import HostSampler
from whystall.sources.live.log_tail import LogTail
from whystall.sources.live.nvml import NoGpu, open_gpus
from whystall.sources.live.processes import ServerProcesses, find_server

_BESIDE = Text("run whystall on the server's machine", "请在服务器所在的机器上运行 whystall")


def readable(address: Address | None, log: Path | None) -> tuple[Check, ...]:
    """The checks of this host; those of the server's processes only where ``address`` is on it."""
    host = HostSampler(ServerProcesses()).sample(time.time())
    checks = [_pressure("psi_cpu_some_s" in host), _gpus()]
    if address is not None:
        checks = [*_server(address), *checks]
    return (*checks, _log(log))


def _server(address: Address) -> list[Check]:
    if not is_this_host(address):
        elsewhere = Text("the server is on another machine", "服务器在另一台机器上")
        return [Check("processes", "missing", elsewhere, _BESIDE)]
    server = find_server(address.port)
    if not server.processes:
        hint = Text("run whystall as the server's user or as root", "请以服务器的用户或 root 身份运行 whystall")
        return [Check("processes", "missing", Text(server.missing), hint)]
    roles = [process.role for process in server.processes]
    counts = ", ".join(f"{roles.count(role)} {role}" for role in ("api", "engine", "worker", "other") if role in roles)
    return [Check("processes", "ok", Text(counts)), _arguments(server), _cgroup(server)]


def _arguments(server: ServerProcesses) -> Check:
    if server.argv:
        return Check("command line", "ok", Text(f"{len(server.argv)} arguments", f"{len(server.argv)} 个参数"))
    hidden = Text("its process title hides it", "被进程标题覆盖")
    return Check("command line", "missing", hidden, Text("give it by --server-args", "用 --server-args 提供"))


def _cgroup(server: ServerProcesses) -> Check:
    group = cpu_group(server.processes[0].pid)
    if group is None:
        return Check("cgroup", "ok", Text("no CPU limit", "没有 CPU 限制"))
    return Check("cgroup", "ok", Text(f"limit of {group.quota:g} CPUs", f"限制为 {group.quota:g} 个 CPU"))


def _pressure(found: bool) -> Check:
    if found:
        return Check("pressure", "ok", Text("/proc/pressure/cpu"))
    absent = Text("this kernel has no pressure stall information", "此内核没有 PSI（压力阻塞信息）")
    return Check("pressure", "missing", absent, Text("boot Linux with psi=1", "以 psi=1 启动 Linux"))


def _gpus() -> Check:
    gpus = open_gpus()
    if isinstance(gpus, NoGpu):
        return Check("nvml", "missing", gpus.reason, gpus.hint)
    try:
        names = [str(row["name"]) for row in gpus.sample(time.time())]
    finally:
        gpus.close()
    return Check("nvml", "ok", Text(f"{len(names)} × {names[0]}"))


def _log(path: Path | None) -> Check:
    if path is None:
        return Check(
            "log", "missing", Text("not named", "未指定"), Text("name it with --log FILE", "用 --log FILE 指定")
        )
    try:
        tail = LogTail(path)
    except WhystallError as error:
        return Check("log", "failed", Text(error.message), Text(error.hint))
    try:
        size = len(tail.first())
    finally:
        tail.close()
    return Check("log", "ok", Text(f"{path}, {size / 1000:.0f} kB read", f"{path}，读取了 {size / 1000:.0f} kB"))
