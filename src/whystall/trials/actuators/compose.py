"""Docker Compose: the service's command in an override file, and ``docker compose up -d SERVICE``."""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from whystall.errors import ChangeFailed, InputError, UsageError
from whystall.sources.live.scrubber import mask_secrets

from .actuator import Plan, Readiness, Snapshot
from .arguments import Shape, changed
from .durable import write_whole
from .health import until_up
from .spec import ComposeSpec
from .yaml_text import yaml_text

_DOCKER_S = 600.0
_MAX_BYTES = 4_000_000
_HEAD = "# Written by whystall fix. Remove this file and run `docker compose up -d` to go back.\n"


class _Saved(msgspec.Struct):
    """The command as Compose has it, and the override file's text ("" where there is none)."""

    command: list[str]
    entrypoint: list[str]
    override: str


class Compose:
    """One service of a project. ``url`` is where the server listens."""

    kind = "compose"
    live = True

    def __init__(self, spec: ComposeSpec, url: str, start_s: float) -> None:
        self.spec = spec
        self.url = url
        self.start_s = start_s
        self.files = [Path(name).expanduser().resolve() for name in spec.files]
        self.override = self.files[0].parent / spec.override
        self.target = f"compose:{self.files[0]}:{spec.service}"

    async def snapshot(self) -> Snapshot:
        """The service's command, from ``docker compose config``."""
        saved = _Saved(*_command_of(await self._configuration(), self.spec.service), override=self._override_text())
        return Snapshot(_shape(saved).arguments, msgspec.json.encode(saved).decode())

    async def plan(self, before: Snapshot, flags: Mapping[str, str]) -> Plan:
        """The override file's text and the command that applies it."""
        after = changed(before.arguments, flags)
        if after == before.arguments:
            raise UsageError(f"the service {self.spec.service} has these arguments already", "Nothing is to change.")
        saved = _saved(before)
        up = shlex.join(self._compose(with_override=True, words=self._up()))
        back = shlex.join(self._compose(with_override=bool(saved.override), words=self._up()))
        undo = f"restore {self.override}; {back}" if saved.override else f"rm {shlex.quote(str(self.override))}; {back}"
        return Plan(before, after, f"{self.override}:\n{self._text(saved, mask_secrets(after))}{up}", undo, dict(flags))

    def _text(self, saved: _Saved, after: tuple[str, ...]) -> str:
        entrypoint, command = _shape(saved).holding(after)
        # In a Compose file a dollar sign begins a variable; two are one.
        service = {"command": [word.replace("$", "$$") for word in command]}
        if entrypoint != saved.entrypoint:
            service["entrypoint"] = [word.replace("$", "$$") for word in entrypoint]
        return _HEAD + yaml_text({"services": {self.spec.service: service}})

    async def apply(self, plan: Plan) -> None:
        """Write the override and bring the service up with it."""
        write_whole(self.override, self._text(_saved(plan.before), plan.after).encode())
        await self._docker(self._compose(with_override=True, words=self._up()))

    async def roll_back(self, before: Snapshot) -> None:
        """Put the override back as it was, or take it away, and bring the service up."""
        saved = _saved(before)
        if saved.override:
            write_whole(self.override, saved.override.encode())
        else:
            self.override.unlink(missing_ok=True)
        await self._docker(self._compose(with_override=bool(saved.override), words=self._up()))

    async def healthy(self) -> Readiness:
        """Wait for the server's ``/health``."""
        return await until_up(self.url, self.start_s)

    # -- docker

    def _up(self) -> list[str]:
        return ["up", "-d", "--no-deps", self.spec.service]

    def _compose(self, *, with_override: bool, words: list[str]) -> list[str]:
        files = [*self.files, *([self.override] if with_override else [])]
        named = [word for file in files for word in ("-f", str(file))]
        return [self.spec.docker, "compose", *named, *words]

    async def _configuration(self) -> dict[str, Any]:
        words = self._compose(with_override=self.override.exists(), words=["config", "--format", "json"])
        out = await self._docker(words)
        try:
            found: dict[str, Any] = msgspec.json.decode(out, type=dict[str, Any])
        except msgspec.MsgspecError as error:
            raise InputError(f"docker compose config gave no JSON: {error}", "Docker Compose 2 is needed.") from error
        return found

    async def _docker(self, words: list[str]) -> bytes:
        try:
            process = await asyncio.create_subprocess_exec(
                *words, stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
            )
        except OSError as error:
            raise ChangeFailed(
                f"{words[0]} cannot be run: {error.strerror}", "Set `docker` in whystall.toml."
            ) from error
        try:
            out, err = await asyncio.wait_for(process.communicate(), _DOCKER_S)
        except TimeoutError:
            process.kill()
            await process.wait()
            raise ChangeFailed(f"{shlex.join(words)} did not end", "See docker's own log.") from None
        if process.returncode:
            said = err.decode("utf-8", "replace").strip()[-500:]
            raise ChangeFailed(f"{shlex.join(words)} ended with {process.returncode}: {said}", "Run it by hand to see.")
        return out[:_MAX_BYTES]

    def _override_text(self) -> str:
        try:
            return self.override.read_text(encoding="utf-8")
        except FileNotFoundError:
            return ""
        except (OSError, UnicodeDecodeError) as error:
            raise InputError(f"{self.override} cannot be read: {error}", "Is it whystall's file?") from error


def _command_of(configuration: dict[str, Any], service: str) -> tuple[list[str], list[str]]:
    services = configuration.get("services")
    found = services.get(service) if isinstance(services, dict) else None
    if not isinstance(found, dict):
        raise UsageError(f"the Compose project has no service {service!r}", "Check `service` and `files`.")
    return _words(found.get("command"), service), _words(found.get("entrypoint"), service)


def _words(value: object, service: str) -> list[str]:
    if value is None:
        return []
    if isinstance(value, str):
        return shlex.split(value)
    if isinstance(value, list) and all(isinstance(word, str) for word in value):
        return [word.replace("$$", "$") for word in value]
    raise InputError(f"the command of service {service!r} is no list of words", "See `docker compose config`.")


def _saved(before: Snapshot) -> _Saved:
    return msgspec.json.decode(before.saved, type=_Saved)


def _shape(saved: _Saved) -> Shape:
    return Shape(saved.entrypoint, saved.command)
