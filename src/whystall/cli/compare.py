"""``whystall compare``: what differs between two servers or recordings, and what changed first."""

from __future__ import annotations

import asyncio

import click

from whystall import pipeline
from whystall.model.recording import Recording
from whystall.reports.comparison import COMPARISON_FORMATS, render_comparison
from whystall.sources.live.address import is_there
from whystall.sources.live.collector import CollectSpec, collect

from .collecting import collect_spec, recording_of, shown_progress
from .options import ACCESS, FOR, INTERVAL, output_options, reading_options
from .output import Output
from .reading import Asked, Reading


@click.command()
@click.argument("a")
@click.argument("b")
@reading_options(FOR, INTERVAL, *ACCESS)
@output_options(COMPARISON_FORMATS)
def compare(a: str, b: str, asked: Asked, output: Output) -> int:
    """Say what differs between two servers or recordings, and what changed first.

    A and B are addresses of servers, names from whystall.toml, or folders that whystall record wrote. Two servers are
    read at the same time. Ratios are B over A.
    """
    output.check()
    first, second = _recordings(asked.of(a), asked.of(b), output.lang)
    comparison = pipeline.compare(first, second)
    output.tell_first(lambda width: render_comparison(comparison, "text", output.lang, width, False))
    output.write(render_comparison(comparison, output.format, output.lang, output.width, output.colour))
    return 0


def _recordings(a: Reading, b: Reading, lang: str) -> tuple[Recording, Recording]:
    # Two servers side by side, so that both are seen under the same load; what is on disk can wait for its turn.
    if all(":" in one.target and not is_there(one.target) for one in (a, b)):
        return asyncio.run(_both(collect_spec(a), collect_spec(b), lang))
    return recording_of(a, lang), recording_of(b, lang)


async def _both(a: CollectSpec, b: CollectSpec, lang: str) -> tuple[Recording, Recording]:
    with shown_progress(lang) as show:
        first, second = await asyncio.gather(collect(a, progress=show), collect(b))
    return first, second
