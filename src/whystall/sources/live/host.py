"""The host a server runs on, and each of the server's processes, as the lines of a recording's host.jsonl have them."""

from __future__ import annotations

import os
from pathlib import Path

from .cgroup import CGROUPS, PROC, cpu_group, throttling
from .processes import ServerProcess, ServerProcesses
from .sink import Row

_JIFFIES = ("user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal")


class HostSampler:
    """Reads /proc once a call, without root; what cannot be read is left out of the row, never 0."""

    def __init__(self, server: ServerProcesses, proc: Path = PROC, cgroups: Path = CGROUPS) -> None:
        self._server = server
        self._proc = proc
        self._tick_s = 1 / os.sysconf("SC_CLK_TCK")
        self._page_bytes = os.sysconf("SC_PAGE_SIZE")
        engine = next((p for p in server.processes if p.role == "engine"), None) or next(iter(server.processes), None)
        self._group = cpu_group(engine.pid, proc, cgroups) if engine else None

    def sample(self, t: float) -> Row:
        """One row: load, jiffies, pressure, memory, the control group, and each process that is still there."""
        row: Row = {"t": t, "cpus": os.cpu_count()} | self._load() | self._pressure() | self._memory()
        jiffies = self._text("stat").partition("\n")[0].split()[1:9]
        if len(jiffies) == len(_JIFFIES):
            row["cpu_jiffies"] = dict(zip(_JIFFIES, map(int, jiffies), strict=True))
        if self._group is not None:
            row["cgroup"] = throttling(self._group) | {"cpu_quota": self._group.quota}
        found = (self._process(process) for process in self._server.processes)
        row["processes"] = [process for process in found if process]
        return row

    def _load(self) -> Row:
        numbers = self._text("loadavg").split()[:3]
        return {"loadavg": [float(number) for number in numbers]} if len(numbers) == 3 else {}

    def _pressure(self) -> Row:
        """Cumulative seconds in which some task waited for a CPU."""
        for line in self._text("pressure/cpu").splitlines():
            kind, *fields = line.split()
            total = next((field for field in fields if field.startswith("total=")), "")
            if kind == "some" and total:
                return {"psi_cpu_some_s": int(total.removeprefix("total=")) / 1e6}
        return {}

    def _memory(self) -> Row:
        for line in self._text("meminfo").splitlines():
            if line.startswith("MemAvailable:"):
                return {"mem_available_bytes": int(line.split()[1]) * 1024}
        return {}

    def _process(self, process: ServerProcess) -> Row | None:
        """None for a process that has ended. Fields 14, 15 and 24 of /proc/PID/stat, counted after the name."""
        fields = self._text(f"{process.pid}/stat").rpartition(")")[2].split()
        if len(fields) < 22:
            return None
        row: Row = {"name": process.name, "pid": process.pid, "role": process.role}
        row["cpu_s"] = round((int(fields[11]) + int(fields[12])) * self._tick_s, 3)
        row["rss_bytes"] = int(fields[21]) * self._page_bytes
        delay = self._text(f"{process.pid}/schedstat").split()
        if len(delay) == 3:
            row["run_delay_s"] = int(delay[1]) / 1e9  # of the main thread, which runs the process's loop
        allowed = self._allowed(process.pid)
        return row | ({"allowed_cpus": allowed} if allowed else {})

    @staticmethod
    def _allowed(pid: int) -> int | None:
        try:
            return len(os.sched_getaffinity(pid))
        except (OSError, AttributeError):  # AttributeError: not Linux
            return None

    def _text(self, name: str) -> str:
        try:
            return (self._proc / name).read_text(encoding="ascii", errors="replace")
        except OSError:
            return ""
