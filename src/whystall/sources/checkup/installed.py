"""What is installed on this machine."""

from __future__ import annotations

import importlib.metadata
import platform
import re
import sys

from whystall.model.checkup import Check
from whystall.model.text import Text

_OLDEST_PYTHON = (3, 11)
_EXTRA = re.compile(r"""extra\s*==\s*['"]([\w-]+)['"]""")
_NAME = re.compile(r"[A-Za-z0-9][\w.-]*")
_FOR = {
    "gpu": Text("GPU power, clocks and throttling by NVML", "通过 NVML 读取 GPU 功耗、时钟与降频"),
    "grpc": Text("spans over gRPC", "通过 gRPC 接收 span"),
    "tui": Text("`whystall top`", "`whystall top`"),
    "ncu": Text("Nsight Compute reports", "Nsight Compute 报告"),
    "ray": Text("Ray clusters", "Ray 集群"),
    "mcp": Text("serving assistants", "为助手提供服务"),
}


def installed(name: str = "whystall") -> tuple[Check, ...]:
    """Python, each package that is needed, and each extra with what it is for."""
    needed, extras = _requirements(name)
    packages = [_package(package, f"pip install --force-reinstall {name}") for package in needed]
    return (_python(), *packages, *(_extra(name, extra, extras[extra]) for extra in sorted(extras)))


def _python() -> Check:
    version = platform.python_version()
    text = Text(f"Python {version} on {platform.system()} {platform.machine()}")
    if sys.version_info >= _OLDEST_PYTHON:
        return Check("python", "ok", text)
    return Check("python", "failed", text, Text("use Python 3.11 or newer", "请使用 Python 3.11 或更新版本"))


def _requirements(name: str) -> tuple[list[str], dict[str, list[str]]]:
    """The packages that ``name`` always needs, and those of each extra, as its own metadata says."""
    needed: list[str] = []
    extras: dict[str, list[str]] = {}
    for line in importlib.metadata.requires(name) or ():
        package = _NAME.match(line)
        extra = _EXTRA.search(line)
        if package:
            (extras.setdefault(extra[1], []) if extra else needed).append(package[0])
    return sorted(needed), extras


def _package(package: str, how: str) -> Check:
    version = _version(package)
    if version is None:
        return Check(package, "failed", Text("not installed", "未安装"), Text(how))
    return Check(package, "ok", Text(version))


def _extra(name: str, extra: str, packages: list[str]) -> Check:
    purpose = _FOR.get(extra, Text(extra))
    missing = [package for package in packages if _version(package) is None]
    if missing:
        absent = Text("not installed; for {purpose}", "未安装；用于{purpose}").format(purpose=purpose)
        return Check(f"[{extra}]", "missing", absent, Text(f"pip install '{name}[{extra}]'"))
    found = ", ".join(f"{package} {_version(package)}" for package in packages)
    return Check(
        f"[{extra}]",
        "ok",
        Text("{found}; for {purpose}", "{found}；用于{purpose}").format(found=found, purpose=purpose),
    )


def _version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None
