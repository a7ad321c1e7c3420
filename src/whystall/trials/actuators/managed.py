"""Starting a server that whystall keeps: ``vllm serve MODEL``, or the emulator in its place."""

from __future__ import annotations

import os
import shutil
import socket
import sys
from pathlib import Path

from whystall.errors import Unavailable

from .kept import KeptFolder, KeptServer
from .process import KeptProcess

PROGRAM_VARIABLE = "WHYSTALL_VLLM"
_LOOPBACK = "127.0.0.1"


def vllm_server(folder: Path, model: str, *, start_s: float = 900.0) -> KeptProcess:
    """A ``vllm serve MODEL`` on loopback, kept in ``folder``; not started yet.

    The program is ``$WHYSTALL_VLLM``, else ``vllm`` on the PATH. Raises Unavailable where there is none.
    """
    program = os.environ.get(PROGRAM_VARIABLE) or shutil.which("vllm")
    if not program:
        raise Unavailable(
            "vllm is not on the PATH", f"Install vLLM, or set {PROGRAM_VARIABLE} to the path of its program."
        )
    words = (program, "serve", model)
    return _kept(folder, "process", Path(model).name, words, start_s)


def emulated_server(folder: Path, *, name: str = "emulated", start_s: float = 60.0, port: int = 0) -> KeptProcess:
    """A ``whystall emulate`` on loopback, kept in ``folder``; not started yet. ``port`` 0 takes a free one."""
    return _kept(folder, "emulated", name, (sys.executable, "-m", "whystall", "emulate"), start_s, port)


def _kept(folder: Path, kind: str, name: str, program: tuple[str, ...], start_s: float, port: int = 0) -> KeptProcess:
    kept = KeptFolder(folder)
    if kept.server() is None:
        port = port or _free_port()
        words = (*program, "--host", _LOOPBACK, "--port", str(port))
        paths = {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))} if kind == "emulated" else {}
        kept.keep(KeptServer(name, kind, words, f"http://{_LOOPBACK}:{port}", paths, start_s))
    return KeptProcess(folder)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind((_LOOPBACK, 0))
        return int(probe.getsockname()[1])
