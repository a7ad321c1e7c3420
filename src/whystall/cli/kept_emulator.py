"""An emulated server that goes on when its command ends, and that ``whystall fix`` can change: it has a keeper."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Iterator
from pathlib import Path

import click
from click.core import ParameterSource

from whystall.cases.place import default_store
from whystall.errors import ChangeFailed, UsageError
from whystall.trials.actuators.choose import kept_at
from whystall.trials.actuators.managed import emulated_server
from whystall.trials.actuators.process import KeptProcess

_OWN = ("keep", "port", "host", "list_faults")
_LOOPBACK = ("127.0.0.1", "localhost")
_UP = "{url}/metrics\nit goes on when this ends, and whystall fix {url} can change it; stop it with: kill {pid}"


def keep_emulator(context: click.Context, host: str, port: int) -> None:
    """Start the server of this command line under a keeper. Raises ChangeFailed where it does not come up, UsageError."""
    if host not in _LOOPBACK:
        raise UsageError("a kept emulator listens on 127.0.0.1 only", "Leave --host out.")
    given = context.get_parameter_source("port") == ParameterSource.COMMANDLINE
    kept = _kept(default_store(os.environ).parent / "servers", port if given else 0)
    arguments = tuple(words_of(context))
    ready = asyncio.run(kept.start(arguments))
    status = kept.folder.status()
    if not ready.ok or status is None:
        raise ChangeFailed(f"the emulator did not come up: {ready.reason}", f"Its log: {kept.folder.log}")
    if status.arguments != arguments:
        raise UsageError(
            f"at port {port} a kept emulator runs already, with other arguments",
            f"Stop it with: kill {status.keeper}; or choose another --port.",
        )
    click.echo(_UP.format(url=kept.server.url, pid=status.keeper))


def _kept(servers: Path, port: int) -> KeptProcess:
    """The one that is kept at the port, else a new one."""
    known = kept_at(f"http://127.0.0.1:{port}", servers) if port else None
    if known is not None:
        return known
    if port:
        _require_free(port)
    number = 1
    while (servers / f"emulated-{number}").exists():
        number += 1
    return emulated_server(servers / f"emulated-{number}", port=port)


def _require_free(port: int) -> None:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((_LOOPBACK[0], port))
        except OSError as error:
            raise UsageError(f"port {port} cannot be had: {error.strerror}", "Leave --port out.") from None


def words_of(context: click.Context) -> Iterator[str]:
    """The options that stand on the command line, as one would write them again, without those of the keeper."""
    for option in context.command.params:
        name, value = option.name or "", context.params.get(option.name or "")
        if name in _OWN or context.get_parameter_source(name) != ParameterSource.COMMANDLINE:
            continue
        if isinstance(value, bool):
            yield option.opts[0] if value else option.secondary_opts[0]
        elif option.multiple if isinstance(option, click.Option) else False:
            for one in value or ():
                yield from (option.opts[0], str(one))
        else:
            yield from (option.opts[0], _written(value))


def _written(value: object) -> str:
    if isinstance(value, tuple):  # a span of tokens
        return "-".join(str(part) for part in value)
    return str(value.resolve()) if isinstance(value, Path) else str(value)
