"""``whystall whatif``: what a change would do, before it is made."""

from __future__ import annotations

import click

from whystall import pipeline
from whystall.errors import UsageError
from whystall.remedies.whatif import WhatIfAsked, asked_of, sweep_of
from whystall.reports.whatif import WHATIF_FORMATS, render_whatif

from .collecting import recording_of
from .options import output_options, reading_options
from .output import Output
from .reading import Asked


@click.command()
@click.argument("target")
@click.option(
    "--set", "settings", multiple=True, metavar="FLAG=VALUE", help="A flag to change; all together are one change."
)
@click.option(
    "--sweep", "sweeps", multiple=True, metavar="FLAG=A,B,C", help="A flag's values, each a change by itself."
)
@click.option("--rate", default="", metavar="xN", help="So many times the requests, as in x1.5.")
@click.option("--assume", multiple=True, metavar="NAME=N", help="What is no flag: replicas, clients, host_cores, rate.")
@reading_options()
@output_options(WHATIF_FORMATS)
def whatif(
    target: str,
    settings: tuple[str, ...],
    sweeps: tuple[str, ...],
    rate: str,
    assume: tuple[str, ...],
    asked: Asked,
    output: Output,
) -> int:
    """Say what a change would buy, before making it.

    TARGET is a server's address (http://host:8000), its name in whystall.toml, or a recording's folder. The server is
    only read: its load and its steps are played on the emulator, as they are and with the change. A flag is written as
    --set max-num-seqs=64, a switch --set enforce-eager, and --set enforce-eager= takes it away. Exits 2 where the
    server would refuse to start so, 3 where nothing can be said.
    """
    changes = _changes(settings, sweeps, rate, assume)
    output.check()
    reading = asked.of(target)
    found = pipeline.whatif(recording_of(reading, output.lang), changes, reading.slo)
    output.tell_first(lambda width: render_whatif(found, "text", output.lang, width, False))
    output.write(render_whatif(found, output.format, output.lang, output.width, output.colour))
    return 0 if found.predictions else 3


def _changes(
    settings: tuple[str, ...], sweeps: tuple[str, ...], rate: str, assume: tuple[str, ...]
) -> list[WhatIfAsked]:
    """What was asked; a sweep's values each on top of what is set."""
    if len(sweeps) > 1:
        raise UsageError("two sweeps at once are a grid of changes", "Sweep one flag, and set the other.")
    if not sweeps:
        return [asked_of(settings, assume, rate)]
    base = asked_of(settings, assume, rate) if settings or assume or rate else WhatIfAsked()
    each = sweep_of(sweeps[0])
    return [WhatIfAsked({**base.change, **one.change}, {**base.assume, **one.assume}) for one in each]
