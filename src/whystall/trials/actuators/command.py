"""A program of the operator's own: run without a shell, once to change and once to go back, values in its environment."""

from __future__ import annotations

import asyncio
import os
import shlex
from collections.abc import Mapping

import msgspec

from whystall.errors import ChangeFailed, UsageError
from whystall.sources.live.scrubber import mask_secrets

from .actuator import Plan, Readiness, Snapshot
from .arguments import changed
from .health import until_up
from .spec import CommandSpec


class Command:
    """The hook gets ``WHYSTALL_ACTION`` (apply or roll_back), ``_TARGET``, and ``_FLAGS`` and ``_ARGUMENTS`` as JSON."""

    kind = "command"
    live = True

    def __init__(self, spec: CommandSpec, url: str, start_s: float, arguments: tuple[str, ...]) -> None:
        if not spec.argv:
            raise UsageError("the command hook has no argv", 'Write argv = ["/path/of/program"] in whystall.toml.')
        self.spec = spec
        self.url = url
        self.start_s = start_s
        self.arguments = spec.arguments or arguments
        self.target = f"command:{url}"

    async def snapshot(self) -> Snapshot:
        """The arguments as the configuration or the server says; the hook itself is not asked."""
        return Snapshot(self.arguments)

    async def plan(self, before: Snapshot, flags: Mapping[str, str]) -> Plan:
        """The command with its environment, as one would type it."""
        after = changed(before.arguments, flags)
        back = dict.fromkeys(flags, "")
        return Plan(
            before,
            after,
            self._typed("apply", flags, after),
            self._typed("roll_back", back, before.arguments),
            dict(flags),
        )

    def _typed(self, action: str, flags: Mapping[str, str], arguments: tuple[str, ...]) -> str:
        values = self._environment(action, flags, mask_secrets(arguments))
        return " ".join([*(f"{k}={shlex.quote(v)}" for k, v in values.items()), shlex.join(self.spec.argv)])

    def _environment(self, action: str, flags: Mapping[str, str], arguments: tuple[str, ...]) -> dict[str, str]:
        return {
            "WHYSTALL_ACTION": action,
            "WHYSTALL_TARGET": self.url,
            "WHYSTALL_FLAGS": msgspec.json.encode(dict(flags)).decode(),
            "WHYSTALL_ARGUMENTS": msgspec.json.encode(arguments).decode(),
        }

    async def apply(self, plan: Plan) -> None:
        """Run it to change."""
        await self._run(self._environment("apply", plan.flags, plan.after))

    async def roll_back(self, before: Snapshot) -> None:
        """Run it to go back."""
        await self._run(self._environment("roll_back", {}, before.arguments))

    async def healthy(self) -> Readiness:
        """Wait for the server's ``/health``."""
        return await until_up(self.url, self.start_s)

    async def _run(self, values: Mapping[str, str]) -> None:
        try:
            process = await asyncio.create_subprocess_exec(
                *self.spec.argv,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.DEVNULL,
                stderr=asyncio.subprocess.PIPE,
                env={**os.environ, **values},
            )
        except OSError as error:
            raise ChangeFailed(f"{self.spec.argv[0]} cannot be run: {error.strerror}", "Check `argv`.") from error
        try:
            _, said = await asyncio.wait_for(process.communicate(), self.start_s)
        except TimeoutError:
            process.kill()
            await process.wait()
            raise ChangeFailed(f"{self.spec.argv[0]} did not end in {self.start_s:g} s", "It was killed.") from None
        if process.returncode:
            words = said.decode("utf-8", "replace").strip()[-500:]
            raise ChangeFailed(f"{self.spec.argv[0]} ended with {process.returncode}: {words}", "See what it does.")
