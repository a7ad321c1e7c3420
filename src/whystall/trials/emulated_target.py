"""A server that lives in this process, in emulated time: it can be looked at, changed and put back like any other.

For tests, benchmarks and whoever wants to see the loop without waiting: an hour of it takes a minute.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec

from whystall.emulator.engine.options import EngineOptions
from whystall.emulator.engine.profile import StepProfile
from whystall.emulator.server.deployment import Deployment, Serving
from whystall.emulator.server.recorder import record_run
from whystall.errors import UsageError
from whystall.model.recording import Recording
from whystall.remedies.setup import number_of, switch_of
from whystall.sources.arguments import read_arguments
from whystall.sources.files.recording import read_recording

from .actuators.actuator import Plan, Readiness, Snapshot
from .actuators.arguments import changed

_START = 1_790_000_000.0
_DRIFT_EVERY_S = 5.0
_OPTION = {"num_gpu_blocks_override": "num_gpu_blocks"}
# Flags that the engine's model has no option for: what they change is in the scene.
_WORDS = """enforce_eager kv_cache_dtype gpu_memory_utilization enable_lora enable_log_requests mm_processor_cache_gb
    profiler_config"""
NO_OPTIONS = tuple(_WORDS.split())
_TIMED = tuple(name for name in StepProfile.__struct_fields__ if name.endswith("_s"))
Drift = Callable[[float], float]
Reapply = Callable[[Deployment], None]


def _nothing(_deployment: Deployment) -> None:
    """For servers to which nothing is done."""


class EmulatedTarget:
    """Actuator and collector of one emulated server that makes its own load.

    ``roomy`` is the server without the operator's flags: what a flag that is taken away falls back to. ``drift`` gives
    the factor by which all its times are longer at a moment (seconds since the start); ``after_restart`` does again
    what a restart undoes and the incident does not (adapters that requests ask for).
    """

    kind = "emulated"
    live = True

    def __init__(
        self,
        serving: Serving,
        roomy: Serving,
        *,
        drift: Drift | None = None,
        restart_s: float = 30.0,
        after_restart: Reapply = _nothing,
        name: str = "in this process",
    ) -> None:
        self.roomy = roomy
        self.first = serving
        self.drift = drift
        self.restart_s = restart_s
        self.after_restart = after_restart
        self.target = f"emulated:{name}"
        self.arguments = _arguments(serving.flags)
        self.deployment = Deployment(serving, start=_START)
        self._refused = ""
        if drift is not None:
            self.deployment.at(_START, self._drifted)

    @property
    def now(self) -> float:
        """Unix seconds of its clock."""
        return self.deployment.now

    async def look(self, seconds: float) -> Recording:
        """What its pages, log and clients say in the next ``seconds``."""
        with TemporaryDirectory(prefix="whystall-emulated-") as folder:
            record_run(self.deployment, Path(folder), seconds=seconds, gpu=True)
            recording = read_recording(Path(folder))
        return msgspec.structs.replace(recording, target=msgspec.structs.replace(recording.target, text=self.target))

    def let_run(self, seconds: float) -> None:
        """Let time go by without looking."""
        self.deployment.advance(self.now + seconds)

    def deploy(self, flags: Mapping[str, object], after_s: float) -> None:
        """In ``after_s`` somebody starts it with ``flags`` on top of those that it has."""
        arguments = (*self.arguments, *_arguments(flags))
        self.deployment.at(self.now + after_s, lambda _d, _t: self._start(arguments))

    # -- as an actuator

    async def snapshot(self) -> Snapshot:
        return Snapshot(self.arguments)

    async def plan(self, before: Snapshot, flags: Mapping[str, str]) -> Plan:
        after = changed(before.arguments, flags)
        text, undo = (shlex.join(("emulate", *words)) for words in (after, before.arguments))
        return Plan(before, after, text, undo, dict(flags))

    async def apply(self, plan: Plan) -> None:
        self._start(plan.after)

    async def roll_back(self, before: Snapshot) -> None:
        self._start(before.arguments)

    async def healthy(self) -> Readiness:
        self.deployment.advance(self.deployment.ready_at)
        return Readiness(not self._refused, self._refused)

    def _start(self, arguments: tuple[str, ...]) -> None:
        """With arguments that it refuses it goes on with those it had, as a keeper would see to."""
        if arguments == self.arguments:
            self._refused = ""
            return
        try:
            serving = with_arguments(self.first, self.roomy, arguments)
            serving.options.check()
        except UsageError as error:
            self._refused = error.message
            return
        self._refused = ""
        self.arguments = arguments
        self.deployment.restart(serving, self.now, down_s=self.restart_s)
        self.after_restart(self.deployment)

    def _drifted(self, deployment: Deployment, t: float) -> None:
        assert self.drift is not None
        factor = max(self.drift(t - _START), 1e-3)
        for replica in deployment.replicas:
            clock = replica.engine.clock
            graphs = clock.profile.max_graph_tokens
            scaled = deployment.serving.profile.scaled(**dict.fromkeys(_TIMED, factor))
            clock.set(msgspec.structs.replace(scaled, max_graph_tokens=graphs))
        deployment.at(t + _DRIFT_EVERY_S, self._drifted)


def with_arguments(serving: Serving, roomy: Serving, arguments: tuple[str, ...]) -> Serving:
    """``serving`` started with ``arguments``. Raises UsageError for what the emulator does not know, as vLLM's parser."""
    # The fields of a JSON value come with it.
    flags = {name: value for name, value in read_arguments(arguments).items() if "." not in name}
    profile = serving.profile if "enforce_eager" in flags else roomy.profile
    share = number_of(flags.get("gpu_memory_utilization", ""))
    fitted = (profile if share is None else profile.with_memory_share(share)).with_kv_cache_dtype(
        flags.get("kv_cache_dtype", "auto")
    )
    options: dict[str, Any] = {}
    if profile.kv_blocks:
        options["num_gpu_blocks"] = roomy.options.num_gpu_blocks * fitted.kv_blocks // profile.kv_blocks
    known = {field.name: field.type for field in msgspec.structs.fields(EngineOptions)}
    for name, value in flags.items():
        option = _OPTION.get(name, name)
        if option in known:
            options[option] = _typed(option, value)
        elif name not in (*NO_OPTIONS, "model"):
            raise UsageError(f"unrecognized arguments: --{name.replace('_', '-')}", "The emulator has no such flag.")
    shown: dict[str, object] = dict(flags)
    return msgspec.structs.replace(
        serving,
        options=msgspec.structs.replace(roomy.options, **options),
        profile=fitted,
        flags=shown,
    )


def _typed(option: str, value: str) -> Any:
    switched, number = switch_of(value), number_of(value)
    kind = type(getattr(EngineOptions(num_gpu_blocks=1), option))
    if kind is bool and switched is not None:
        return switched
    if kind is str:
        return value
    if number is None:
        raise UsageError(f"--{option.replace('_', '-')}: {value!r} is no number", "See vllm serve --help.")
    return float(number) if kind is float else int(number)


def _arguments(flags: Mapping[str, object]) -> tuple[str, ...]:
    words: list[str] = []
    for name, value in flags.items():
        flag = f"--{name.replace('_', '-')}"
        if isinstance(value, bool):
            words.append(flag if value else f"--no-{flag[2:]}")
        elif name != "model":
            words += [flag, str(value)]
    return tuple(words)
