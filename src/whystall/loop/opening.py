"""What the user named, opened: a server at an address, a model that is served from now on, or a recording."""

from __future__ import annotations

import asyncio
import hashlib
import os
import shlex
from collections.abc import Callable
from pathlib import Path

import msgspec

from whystall.cases.place import default_store
from whystall.errors import ChangeFailed, NotARecording, Refused, UsageError
from whystall.model.recording import Recording
from whystall.model.slo import Slo
from whystall.model.text import Text
from whystall.sources.files.recording import argv_of, read_recording
from whystall.sources.live.access import Access
from whystall.sources.live.address import Address, is_there, looks_like_a_path
from whystall.sources.live.collector import CollectSpec, Progress, collect
from whystall.trials.actuators.actuator import Actuator
from whystall.trials.actuators.choose import actuator_of, kept_at, no_actuator
from whystall.trials.actuators.managed import vllm_server
from whystall.trials.actuators.process import KeptProcess
from whystall.trials.actuators.spec import ActuatorSpec
from whystall.trials.live_arm import live_arm
from whystall.trials.load.plan import LoadPlan

from .records import Say, silent

_MODEL_FILE, _METRICS_FILE = "config.json", "metrics.prom"
_STARTING = Text(
    "starting: {command}\nit goes on when this ends; stop it with: kill {pid}",
    "正在启动：{command}\n本命令结束后它继续运行；停止：kill {pid}",
)


class LoopConfig(msgspec.Struct, frozen=True, kw_only=True):
    """How the loop looks, what it may do, and where it keeps what it did.

    ``actuator`` says how the server is run, where it is none that whystall runs itself. ``load`` is sent where
    ``send_load`` allows it; without one the incident's own is sent again. ``arguments`` are those a model is started
    with. ``state`` and ``store`` None take the user's own folder; ``keep_case`` False writes no case.
    ``recheck`` looks at every kept change again and does nothing else.
    ``gpu_hour``: the price of a GPU's hour, where money is to be reckoned.
    """

    seconds: float = 30.0
    interval_s: float = 1.0
    slo: Slo | None = None
    access: Access = Access()
    log: Path | None = None
    server_args: str = ""
    actuator: ActuatorSpec | None = None
    arguments: tuple[str, ...] = ()
    apply: bool = False
    send_load: bool = False
    canary: bool = False
    protected: bool = False
    load: LoadPlan | None = None
    budget_s: float = 1800.0
    block_s: float | None = None
    seed: int = 1
    state: Path | None = None
    store: Path | None = None
    keep_case: bool = True
    recheck: bool = False
    gpu_hour: float | None = None

    @property
    def state_folder(self) -> Path:
        """Where journals, locks and kept servers are."""
        return self.state or default_store(os.environ).parent

    @property
    def book(self) -> Path | None:
        """Where the case is kept."""
        return (self.store or self.state_folder / default_store(os.environ).name) if self.keep_case else None


class Opened(msgspec.Struct, frozen=True):
    """A target that can be looked at; ``url`` is "" of a recording, ``actuator`` None where nothing can change it."""

    name: str
    url: str
    config: LoopConfig
    actuator: Actuator | None = None
    folder: Path | None = None

    async def look(self, seconds: float, progress: Callable[[Progress], None] | None = None) -> Recording:
        """What is to be seen in so many seconds; under the load that is to be sent, where one is."""
        if self.folder is not None:
            return read_recording(self.folder)
        spec = CollectSpec(
            self.url,
            seconds=seconds,
            interval_s=self.config.interval_s,
            access=self.config.access,
            log=self.config.log,
            server_args=self._server_args(),
        )
        plan = self.config.load if self.config.send_load else None
        if plan is None:
            return await collect(spec, progress=progress)
        async with live_arm(self.url, access=self.config.access) as arm:
            load = asyncio.create_task(arm.block(plan.trace(seconds, seed=self.config.seed), 0.0))
            try:
                return await collect(spec, progress=progress)
            finally:
                load.cancel()
                await asyncio.gather(load, return_exceptions=True)

    def must_change(self) -> Actuator:
        """The actuator. Raises UsageError where there is none."""
        if self.actuator is None:
            raise no_actuator(self.name)
        return self.actuator

    def _server_args(self) -> str:
        if self.config.server_args or not isinstance(self.actuator, KeptProcess):
            return self.config.server_args
        wanted = self.actuator.folder.wanted()
        return shlex.join((*self.actuator.server.program, *(wanted.arguments if wanted else ())))


async def opened(target: str, config: LoopConfig, say: Say = silent) -> Opened:
    """``target`` as an address, a model's folder, or a recording's. Raises UsageError, Refused where it is protected."""
    if config.protected and (config.apply or config.send_load):
        raise Refused(
            f"{target} is marked protected in whystall.toml",
            "Run without --apply and --send-load, or take the mark away.",
        )
    path, there = Path(target), is_there(target)
    if there and (path / _MODEL_FILE).is_file() and not (path / _METRICS_FILE).exists():
        return await _served(path, config, say)
    if there:
        if config.apply or config.send_load:
            raise UsageError(f"{target} is a recording, which nothing can change", "Give the server's address.")
        return Opened(target, "", config, folder=path)
    if looks_like_a_path(target):
        raise NotARecording(f"there is no {target}", "Give a server's address, or a folder that is there.")
    url = Address.parse(target).base
    kept = kept_at(url, config.state_folder / "servers")
    if config.actuator is not None:
        known = tuple(argv_of(config.server_args)) if config.server_args else ()
        return _read_by(target, url, config, actuator_of(config.actuator, url, known))
    return _read_by(target, url, config, kept)


async def _served(path: Path, config: LoopConfig, say: Say) -> Opened:
    """Serve the model, or take the server that serves it already."""
    model = str(path.resolve())
    key = hashlib.sha256(model.encode()).hexdigest()[:12]
    process = vllm_server(config.state_folder / "servers" / f"{path.resolve().name}-{key}", model)
    ready = await process.start(config.arguments)
    if not ready.ok:
        raise ChangeFailed(f"vllm serve {model} did not come up: {ready.reason}", f"Its log: {process.folder.log}")
    status = process.folder.status()
    command = shlex.join((*process.server.program, *(status.arguments if status else ())))
    say(_STARTING.format(command=command, pid=status.keeper if status else 0))
    return _read_by(model, process.server.url, config, process)


def _read_by(name: str, url: str, config: LoopConfig, actuator: Actuator | None) -> Opened:
    """With the log of a server that whystall runs itself."""
    if isinstance(actuator, KeptProcess) and config.log is None:
        config = msgspec.structs.replace(config, log=actuator.folder.log)
    return Opened(name, url, config, actuator)
