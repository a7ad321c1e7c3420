"""``whystall diagnose``: what limits a server or a recording."""

from __future__ import annotations

import click

from whystall import pipeline
from whystall.model.diagnosis import Verdict
from whystall.reports import render

from .collecting import recording_of
from .options import output_options, reading_options
from .output import Output
from .reading import Asked

EXIT_CODES: dict[Verdict, int] = {"healthy": 0, "bottleneck": 1, "unknown": 3}


@click.command()
@click.argument("target")
@reading_options()
@output_options()
def diagnose(target: str, asked: Asked, output: Output) -> int:
    """Say what limits a server or a recording, since when, and what to change.

    TARGET is a server's address (http://host:8000), its name in whystall.toml, or a recording's folder.
    The server is only read. Exits 0 where it is healthy, 1 where a limit binds, 3 where it cannot be told.
    """
    output.check()
    reading = asked.of(target)
    finding = pipeline.diagnose(recording_of(reading, output.lang), reading.slo)
    output.write(render(finding, output.format, output.lang, output.width, output.colour))
    return EXIT_CODES[finding.diagnosis.verdict]
