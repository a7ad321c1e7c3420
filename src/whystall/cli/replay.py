"""``whystall replay``: a recording served as a live server."""

from __future__ import annotations

import asyncio
from pathlib import Path

import click

from whystall.sources.replay import Replay, serve

_AFTER_END_S = 5.0  # so that a scraper gets to see the end, instead of a server that went away
_LOOK_S = 0.25


@click.command()
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--port", type=click.IntRange(0, 65535), default=8000, show_default=True, help="0 takes a free one.")
@click.option("--speed", type=click.FloatRange(0, 10_000), default=1.0, show_default=True, help="0: a page a scrape.")
@click.option("--loop", is_flag=True, help="Begin again at the end.")
@click.option(
    "--log", type=click.Path(dir_okay=False, path_type=Path), help="Write the recorded log there as it comes due."
)
def replay(folder: Path, port: int, speed: float, loop: bool, log: Path | None) -> int:
    """Serve a recording as a live server, on this machine only.

    Its time begins with the first scrape. Every answer has the header X-Whystall-Clock with the recording's time, which
    whystall's own scraper follows at any speed. After the last page /metrics answers 410, and the replay ends.
    """
    asyncio.run(_serve(Replay(folder, speed, loop, log), port))
    return 0


async def _serve(recorded: Replay, port: int) -> None:
    async with serve(recorded, port) as url:
        click.echo(f"{url}/metrics")
        while not recorded.finished():
            await asyncio.sleep(_LOOK_S)
        await asyncio.sleep(_AFTER_END_S)
