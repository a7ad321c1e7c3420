"""``whystall doctor``: what is installed, reachable and readable."""

from __future__ import annotations

import asyncio

import click

from whystall import __version__
from whystall.cli.options import ACCESS, LOG, output_options, reading_options
from whystall.cli.output import Output
from whystall.cli.reading import Asked, Reading
from whystall.model.checkup import Check, Checkup
from whystall.reports.checkup import render_checkup
from whystall.reports.json import to_json
from whystall.sources.checkup.installed import installed
from whystall.sources.checkup.reachable import Reached, newer_names, reachable
from whystall.sources.checkup.readable import readable
from whystall.sources.checkup.signals import signals
from whystall.sources.live.address import Address
from whystall.sources.live.http import Session

COULD_NOT_TELL = 3


@click.command()
@click.argument("target", required=False)
@reading_options(LOG, *ACCESS)
@output_options(("text", "json"))
def doctor(target: str | None, asked: Asked, output: Output) -> int:
    """Say what is installed, reachable and readable.

    With a TARGET, a server's address or its name in whystall.toml: which endpoints answer, whose metric names its page
    has, which signals a diagnosis would have, and what gives the others. Exits 3 where its metrics cannot be read.
    """
    checkup = _without_target(asked) if target is None else asyncio.run(_of(asked.server(target)))
    if output.format == "json":
        output.write(to_json(checkup, output.lang))
    else:
        output.write(render_checkup(checkup, output.lang, output.width, output.colour))
    unreadable = any(check.id == "/metrics" and check.state != "ok" for check in checkup.reachable)
    return COULD_NOT_TELL if unreadable else 0


def _without_target(asked: Asked) -> Checkup:
    return Checkup(__version__, installed(), readable(None, asked.log))


async def _of(reading: Reading) -> Checkup:
    address = Address.parse(reading.target)
    async with Session(address, reading.access) as session:
        reached = await reachable(session)
    return _checkup(address, reading, reached)


def _checkup(address: Address, reading: Reading, reached: Reached) -> Checkup:
    here = readable(address, reading.log)
    return Checkup(
        version=__version__,
        target=address.base,
        installed=installed(),
        reachable=reached.checks,
        readable=here,
        signals=_signals(reading, reached, here),
        engine_version=reached.version,
        unknown_names=newer_names(reached.keys),
    )


def _signals(reading: Reading, reached: Reached, here: tuple[Check, ...]) -> tuple[Check, ...]:
    if not reached.keys:
        return ()  # without the page there is no diagnosis
    return signals((*reached.checks, *here), reached.keys, reached.config or bool(reading.server_args))
