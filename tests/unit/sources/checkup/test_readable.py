from pathlib import Path

import pytest

from whystall.model.checkup import Check
from whystall.model.text import Text
from whystall.sources.checkup import readable as module
from whystall.sources.checkup.readable import readable
from whystall.sources.live.address import Address
from whystall.sources.live.nvml import NoGpu
from whystall.sources.live.processes import ServerProcess, ServerProcesses


def found(address: Address | None = None, log: Path | None = None) -> dict[str, Check]:
    return {check.id: check for check in readable(address, log)}


@pytest.fixture(autouse=True)
def _no_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "open_gpus", lambda: NoGpu(Text("no driver"), Text("get one")))


def test_this_host_alone() -> None:
    checks = found()
    assert checks.keys() == {"pressure", "nvml", "log"}
    assert (checks["nvml"].state, checks["nvml"].how.en) == ("missing", "get one")


def test_a_server_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "is_this_host", lambda _: False)
    assert "another machine" in found(Address.parse("http://a:1"))["processes"].text.en


def test_a_server_here(monkeypatch: pytest.MonkeyPatch) -> None:
    import os

    pid = os.getpid()
    server = ServerProcesses(
        (ServerProcess(pid, "APIServer", "api"), ServerProcess(pid, "EngineCore", "engine")), ("vllm", "serve")
    )
    monkeypatch.setattr(module, "find_server", lambda _: server)
    checks = found(Address.parse("http://127.0.0.1:1"))
    assert checks["processes"].text.en == "1 api, 1 engine"
    assert (checks["command line"].state, checks["cgroup"].state) == ("ok", "ok")


def test_a_server_that_may_not_be_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "find_server", lambda port: ServerProcesses(missing=f"nothing on {port}"))
    checks = found(Address.parse("http://127.0.0.1:7"))
    assert (checks["processes"].state, checks["processes"].text.en) == ("missing", "nothing on 7")
    assert "root" in checks["processes"].how.en


def test_gpus(monkeypatch: pytest.MonkeyPatch) -> None:
    class Gpus:
        closed = False

        def sample(self, t: float) -> list[dict[str, str]]:
            return [{"name": "H200"}, {"name": "H200"}]

        def close(self) -> None:
            self.closed = True

    gpus = Gpus()
    monkeypatch.setattr(module, "open_gpus", lambda: gpus)
    assert found()["nvml"].text.en == "2 × H200"
    assert gpus.closed


def test_log(tmp_path: Path) -> None:
    log = tmp_path / "server.log"
    log.write_bytes(b"x" * 2000)
    assert found(log=log)["log"].state == "ok"
    assert "2 kB" in found(log=log)["log"].text.en
    assert found(log=tmp_path)["log"].state == "failed"
