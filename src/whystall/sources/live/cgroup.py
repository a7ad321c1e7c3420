"""CPU limits and throttling of a process's control group, version 2 or 1, also seen from within a container."""

from __future__ import annotations

from pathlib import Path

import msgspec

PROC = Path("/proc")
CGROUPS = Path("/sys/fs/cgroup")


class CpuGroup(msgspec.Struct, frozen=True):
    """The nearest group above a process that has a quota. ``folder`` holds its files; ``quota`` is in cores."""

    folder: Path
    version: int
    quota: float


def cpu_group(pid: int, proc: Path = PROC, cgroups: Path = CGROUPS) -> CpuGroup | None:
    """The group that limits ``pid``; None where none does or none can be read.

    Any group up the tree may hold the quota (Kubernetes sets it on the container, sometimes on the pod); the tightest
    one throttles.
    """
    found = [group for folder, version in _folders(pid, proc, cgroups) if (group := _quota(folder, version))]
    return min(found, key=lambda group: group.quota, default=None)


def throttling(group: CpuGroup) -> dict[str, float]:
    """Cumulative ``throttled_s``, ``periods`` and ``throttled_periods``; without what cannot be read."""
    fields = dict(line.split(" ", 1) for line in _text(group.folder / "cpu.stat").splitlines() if " " in line)
    names = {"periods": "nr_periods", "throttled_periods": "nr_throttled"}
    found = {ours: float(fields[theirs]) for ours, theirs in names.items() if fields.get(theirs, "").isdigit()}
    for name, unit in (("throttled_usec", 1e-6), ("throttled_time", 1e-9)):
        if fields.get(name, "").isdigit():
            found["throttled_s"] = float(fields[name]) * unit
    return found


def _folders(pid: int, proc: Path, cgroups: Path) -> list[tuple[Path, int]]:
    folders = []
    for line in _text(proc / str(pid) / "cgroup").splitlines():
        _, controllers, path = [*line.split(":", 2), "", ""][:3]
        if not controllers:
            folders += [(folder, 2) for root in (cgroups, cgroups / "unified") for folder in _upwards(root, path)]
        elif "cpu" in controllers.split(","):
            roots = (cgroups / controllers, cgroups / "cpu")
            folders += [(folder, 1) for root in roots for folder in _upwards(root, path)]
    return folders


def _upwards(root: Path, path: str) -> list[Path]:
    """The group's folder and those above it. In a container the path may be the host's; then only the root is there."""
    parts = [part for part in path.split("/") if part not in ("", "..")]
    return [root.joinpath(*parts[:length]) for length in range(len(parts), -1, -1)]


def _quota(folder: Path, version: int) -> CpuGroup | None:
    if version == 2:
        limit, _, period = _text(folder / "cpu.max").strip().partition(" ")
    else:
        limit, period = (_text(folder / name).strip() for name in ("cpu.cfs_quota_us", "cpu.cfs_period_us"))
    if not (limit.isdigit() and period.isdigit() and int(period)):
        return None  # "max" and -1: no limit
    return CpuGroup(folder, version, int(limit) / int(period))


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii", errors="replace")
    except OSError:
        return ""
