"""A server that whystall runs itself: a ``vllm serve`` process, or an emulated one, each with a keeper of its own."""

from __future__ import annotations

import asyncio
import os
import shlex
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from whystall.errors import ChangeFailed, UsageError
from whystall.sources.arguments import read_arguments
from whystall.sources.live.scrubber import mask_secrets

from .actuator import Plan, Readiness, Snapshot
from .arguments import changed
from .health import is_oom
from .kept import KeptFolder, KeptServer, Status, is_running

_EVERY_S = 0.1
_KEEPER_START_S = 30.0
_NEEDS_LONGER_S = 15.0  # what the keeper takes beyond the server's own start and drain


class KeptProcess:
    """The server of one folder. Its keeper is started where it does not run."""

    live = True

    def __init__(self, folder: Path) -> None:
        self.folder = KeptFolder(folder)
        server = self.folder.server()
        if server is None:
            raise UsageError(f"{folder} keeps no server", "Start one: whystall fix MODEL_PATH")
        self.server: KeptServer = server
        self.kind = server.kind
        self.target = f"{server.kind}:{folder.resolve()}"

    async def snapshot(self) -> Snapshot:
        """The arguments that it runs with."""
        status = await self._settled()
        return Snapshot(status.arguments)

    async def plan(self, before: Snapshot, flags: Mapping[str, str]) -> Plan:
        """Stop it once open requests are answered, and start it with the changed arguments."""
        after = changed(before.arguments, flags)
        if read_arguments(after) == read_arguments(before.arguments):
            raise UsageError("the server runs with these arguments already", "There is nothing to change.")
        return Plan(before, after, self._command(after), self._command(before.arguments), dict(flags))

    def _command(self, arguments: tuple[str, ...]) -> str:
        return shlex.join(mask_secrets((*self.server.program, *arguments)))

    async def apply(self, plan: Plan) -> None:
        """Want the new arguments; the keeper brings them about."""
        await self._want(plan.after)

    async def roll_back(self, before: Snapshot) -> None:
        """Want the old ones."""
        await self._want(before.arguments)

    async def _want(self, arguments: tuple[str, ...]) -> None:
        wanted, status = self.folder.wanted(), self.folder.status()
        as_wanted = status is not None and status.state == "up" and status.arguments == arguments
        if not (wanted is not None and wanted.arguments == arguments and as_wanted):
            self.folder.want(arguments)
        await self._kept()

    async def healthy(self) -> Readiness:
        """Wait until the keeper has it up as wanted, or has given up."""
        status = await self._settled()
        wanted = self.folder.wanted()
        if status.state == "up" and wanted is not None and status.arguments == wanted.arguments:
            return Readiness(True)
        return Readiness(False, status.reason, is_oom(status.reason))

    async def start(self, arguments: tuple[str, ...]) -> Readiness:
        """Start the server where it does not run yet, with ``arguments``."""
        wanted = self.folder.wanted()
        if wanted is None or wanted.stop:
            self.folder.want(arguments)
        await self._kept()
        return await self.healthy()

    async def stop(self) -> None:
        """End the server and its keeper."""
        wanted = self.folder.wanted()
        self.folder.want(wanted.arguments if wanted else (), stop=True)
        await self._kept()
        end = asyncio.get_running_loop().time() + self.server.drain_s + _NEEDS_LONGER_S
        while asyncio.get_running_loop().time() < end:
            status = self.folder.status()
            if status and status.state == "stopped" and not is_running(status.keeper, status.keeper_created):
                return
            await asyncio.sleep(_EVERY_S)
        raise ChangeFailed(f"the keeper of {self.target} did not end", "See keeper.log in its folder.")

    # -- the keeper

    async def _settled(self) -> Status:
        """Its status once that is of what is wanted and no longer in between."""
        await self._kept()
        loop = asyncio.get_running_loop()
        end = loop.time() + 2 * self.server.start_s + self.server.drain_s + _NEEDS_LONGER_S
        while loop.time() < end:
            status, wanted = self.folder.status(), self.folder.wanted()
            if status and wanted and status.number == wanted.number and status.state != "starting" and _is_kept(status):
                return status
            await asyncio.sleep(_EVERY_S)
        raise ChangeFailed(f"the keeper of {self.target} does not answer", "See keeper.log in its folder.")

    async def _kept(self) -> None:
        """See that a keeper runs. A second one leaves by itself, so it does no harm to start one too many."""
        status = self.folder.status()
        if status is not None and _is_kept(status):
            return
        await asyncio.to_thread(_start_keeper, self.folder.path)


def _is_kept(status: Status) -> bool:
    return is_running(status.keeper, status.keeper_created)


def _start_keeper(folder: Path) -> None:
    with (folder / "keeper.log").open("ab") as log:
        subprocess.Popen(
            [sys.executable, "-m", "whystall.trials.actuators.keeper", str(folder)],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        )
