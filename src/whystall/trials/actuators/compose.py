"""Docker Compose: the service's command in an override file, and ``docker compose up -d SERVICE``.

Of a scaled service one container goes first, and the next only once it serves, where Docker can tell that.
"""

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
from .compose_containers import Container, containers_in
from .durable import write_whole
from .health import until_up
from .spec import ComposeSpec
from .yaml_text import yaml_text

_DOCKER_S = 600.0
_MAX_BYTES = 4_000_000
_EVERY_S = 1.0
_IN_TURN = "NAME is each of the {count} containers in turn, the next only once it serves"
_AT_ONCE = "all {count} containers at once: no healthcheck and no port of its own tells when the first of them serves"
_HEAD = "# Written by whystall fix. Remove this file and run `docker compose up -d` to go back.\n"


class _Saved(msgspec.Struct):
    """The command as Compose has it, and the override file's text ("" where there is none); of so many ``containers``,
    which one after the other can be seen to serve, or not (``tells``)."""

    command: list[str]
    entrypoint: list[str]
    override: str
    containers: int = 1
    tells: bool = False


class Compose:
    """One service of a project. ``url`` is where the server listens."""

    kind = "compose"
    live = True

    def __init__(self, spec: ComposeSpec, url: str, start_s: float, every_s: float = _EVERY_S) -> None:
        self.spec = spec
        self.every_s = every_s
        self.url = url
        self.start_s = start_s
        self.files = [Path(name).expanduser().resolve() for name in spec.files]
        self.override = self.files[0].parent / spec.override
        self.target = f"compose:{self.files[0]}:{spec.service}"

    async def snapshot(self) -> Snapshot:
        """The service's command, from ``docker compose config``."""
        command, entrypoint = _command_of(await self._configuration(), self.spec.service)
        there = await self._containers(with_override=self.override.exists())
        tells = len(there) > 1 and all(container.tells for container in there)
        saved = _Saved(command, entrypoint, self._override_text(), max(len(there), 1), tells)
        return Snapshot(_shape(saved).arguments, msgspec.json.encode(saved).decode())

    async def plan(self, before: Snapshot, flags: Mapping[str, str]) -> Plan:
        """The override file's text and the command that applies it."""
        after = changed(before.arguments, flags)
        if after == before.arguments:
            raise UsageError(f"the service {self.spec.service} has these arguments already", "Nothing is to change.")
        saved = _saved(before)
        up = self._said(saved, with_override=True)
        back = self._said(saved, with_override=bool(saved.override))
        undo = f"restore {self.override}; {back}" if saved.override else f"rm {shlex.quote(str(self.override))}; {back}"
        return Plan(before, after, f"{self.override}:\n{self._text(saved, mask_secrets(after))}{up}", undo, dict(flags))

    def _said(self, saved: _Saved, *, with_override: bool) -> str:
        """The commands as a person would give them."""
        up = shlex.join(self._compose(with_override=with_override, words=self._up(saved.containers)))
        if saved.containers == 1:
            return up
        if not saved.tells:
            return f"{up}  # {_AT_ONCE.format(count=saved.containers)}"
        one = shlex.join(self._compose(with_override=with_override, words=self._up(saved.containers, others_stay=True)))
        stop = f"{shlex.quote(self.spec.docker)} stop NAME; {shlex.quote(self.spec.docker)} rm NAME"
        return f"{stop}; {one}  # {_IN_TURN.format(count=saved.containers)}"

    def _text(self, saved: _Saved, after: tuple[str, ...]) -> str:
        entrypoint, command = _shape(saved).holding(after)
        # In a Compose file a dollar sign begins a variable; two are one.
        service = {"command": [word.replace("$", "$$") for word in command]}
        if entrypoint != saved.entrypoint:
            service["entrypoint"] = [word.replace("$", "$$") for word in entrypoint]
        return _HEAD + yaml_text({"services": {self.spec.service: service}})

    async def apply(self, plan: Plan) -> None:
        """Write the override and bring the service up with it."""
        saved = _saved(plan.before)
        write_whole(self.override, self._text(saved, plan.after).encode())
        await self._bring_up(saved, with_override=True)

    async def roll_back(self, before: Snapshot) -> None:
        """Put the override back as it was, or take it away, and bring the service up."""
        saved = _saved(before)
        if saved.override:
            write_whole(self.override, saved.override.encode())
        else:
            self.override.unlink(missing_ok=True)
        await self._bring_up(saved, with_override=bool(saved.override))

    async def healthy(self) -> Readiness:
        """Wait for the server's ``/health``."""
        return await until_up(self.url, self.start_s)

    # -- docker

    async def _bring_up(self, saved: _Saved, *, with_override: bool) -> None:
        """One after the other where each can be seen to serve, and at last whatever is not yet as it shall be."""
        if saved.tells:
            await self._in_turn(saved.containers, with_override=with_override)
        await self._docker(self._compose(with_override=with_override, words=self._up(saved.containers)))

    async def _in_turn(self, count: int, *, with_override: bool) -> None:
        for container in await self._others(with_override=with_override):
            there = {one.name for one in await self._containers(with_override=with_override)} - {container.name}
            await self._docker([self.spec.docker, "stop", container.name])
            await self._docker([self.spec.docker, "rm", container.name])
            await self._docker(self._compose(with_override=with_override, words=self._up(count, others_stay=True)))
            ready = await self._serves(there, with_override=with_override)
            if not ready.ok:
                why = "it ran out of memory" if ready.oom else "it did not come up"
                raise ChangeFailed(
                    f"the first changed container of {self.spec.service}: {why}: {ready.reason}",
                    "The others were left as they were. It is put back.",
                )

    async def _others(self, *, with_override: bool) -> list[Container]:
        """The containers that were not made from this configuration."""
        hashed = self._compose(with_override=with_override, words=["config", "--hash", self.spec.service])
        wanted = (await self._docker(hashed)).decode("utf-8", "replace").split()[-1:]
        there = await self._containers(with_override=with_override)
        return [container for container in there if [container.made_from] != wanted]

    async def _serves(self, others: set[str], *, with_override: bool) -> Readiness:
        """Wait for the container that is none of ``others``: by its healthcheck, else by a port of its own."""
        loop = asyncio.get_running_loop()
        end = loop.time() + self.start_s
        while True:
            there = await self._containers(with_override=with_override)
            new = next((container for container in there if container.name not in others), None)
            if new is not None and not new.health and new.port:
                return await until_up(f"http://127.0.0.1:{new.port}", end - loop.time())
            found = new.readiness() if new is not None else None
            if found is not None:
                return found
            if loop.time() >= end:
                return Readiness(False, f"{new.name if new else 'no new container'} not up after {self.start_s:g} s")
            await asyncio.sleep(self.every_s)

    def _up(self, count: int, *, others_stay: bool = False) -> list[str]:
        stay = ["--no-recreate"] if others_stay else []
        scale = ["--scale", f"{self.spec.service}={count}"] if count > 1 else []
        return ["up", "-d", "--no-deps", *stay, *scale, self.spec.service]

    async def _containers(self, *, with_override: bool) -> tuple[Container, ...]:
        words = self._compose(with_override=with_override, words=["ps", "--all", "--format", "json", self.spec.service])
        return containers_in(await self._docker(words))

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
