"""Real processes with the titles that vLLM gives its own."""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator

import pytest

from whystall.sources.live import processes as module
from whystall.sources.live.processes import find_server, role_of

# A listener with an engine and a worker below it. Titles are written by running Python under another argv[0].
WAIT = "import sys; sys.stdin.read()"
ENGINE = f"""
import subprocess, sys
python = sys.argv[1]
worker = subprocess.Popen(["VLLM::Worker_TP0", "-c", "{WAIT}"], executable=python, stdin=subprocess.PIPE)
sys.stdin.read()
worker.stdin.close(); worker.wait()
"""
SERVER = f"""
import socket, subprocess, sys
def child(title, code):
    return subprocess.Popen([title, "-c", code, sys.executable], executable=sys.executable, stdin=subprocess.PIPE)
children = [child("VLLM::EngineCore_DP0", {ENGINE!r}), child("python3", "{WAIT}")]
listener = socket.create_server(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)
sys.stdin.read()
for one in children: one.stdin.close(); one.wait()
"""
EXPECTED = {("EngineCore_DP0", "engine"), ("Worker_TP0", "worker"), ("helper", "other")}


@pytest.fixture
def server() -> Iterator[tuple[subprocess.Popen[str], int]]:
    command = [sys.executable, "-c", SERVER, "vllm", "serve", "acme", "--max-num-seqs", "7"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdin is not None
        yield process, int(process.stdout.readline())
        process.stdin.close()
        process.wait(timeout=20)


def test_the_tree_below_the_listener(server) -> None:
    process, port = server
    until = time.monotonic() + 20
    found = find_server(port)
    while not {(p.name, p.role) for p in found.processes} >= EXPECTED:
        assert time.monotonic() < until, found  # they may still be starting
        time.sleep(0.05)
        found = find_server(port)
    assert found.processes[0].pid == process.pid
    assert found.processes[0].role == "api"
    assert os.getpid() not in [p.pid for p in found.processes]
    assert not found.missing


def test_a_tunnel_is_not_the_server(monkeypatch) -> None:
    """As with ssh -L or kubectl port-forward: what listens here says nothing of the server's host."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        assert not find_server(port).elsewhere
        monkeypatch.setattr(module, "_name", lambda process: "kubectl")
        found = find_server(port)
    assert found.elsewhere
    assert found.processes == ()
    assert "kubectl" in found.missing


def test_a_port_that_nobody_listens_on(free_port) -> None:
    found = find_server(free_port())
    assert found.processes == ()
    assert "port" in found.missing


@pytest.mark.parametrize(
    ("title", "listens", "expected"),
    [
        ("VLLM::EngineCore", False, ("EngineCore", "engine")),
        ("VLLM::EngineCore_DP3", False, ("EngineCore_DP3", "engine")),
        ("VLLM::Worker_TP0_EP0", False, ("Worker_TP0_EP0", "worker")),
        ("VLLM::APIServer_1", True, ("APIServer_1", "api")),
        ("VLLM::DPCoordinator", False, ("DPCoordinator", "other")),
        ("/usr/bin/python3", True, ("APIServer", "api")),
        ("/usr/bin/python3", False, ("helper", "other")),
        ("", False, ("helper", "other")),
    ],
)
def test_roles(title: str, listens: bool, expected: tuple[str, str]) -> None:
    assert role_of(title, listens) == expected
