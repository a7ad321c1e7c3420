"""``whystall top``: one server live in the terminal."""

from __future__ import annotations

import sys

import click

from whystall.errors import UsageError, WhystallError
from whystall.model.duration import parse_duration
from whystall.service.live_feed import Feed, FeedSpec

from .language import language
from .options import ACCESS, INTERVAL, LANG, SERVER_ARGS, SLO, duration_option, reading_options
from .reading import Asked

INSTALL = "pip install 'whystall[tui]'"
DEFAULT_WINDOW = "2m"


@click.command()
@click.argument("target")
@duration_option("--window", "window_s", f"The time that is looked at [default: {DEFAULT_WINDOW}].")
@reading_options(INTERVAL, SLO, SERVER_ARGS, *ACCESS)
@LANG
def top(target: str, window_s: float | None, asked: Asked, lang: str | None) -> int:
    """Show a server live in the terminal.

    TARGET is a server's address, or its name in whystall.toml. The verdict, the limit that binds, queue, running, KV cache
    and latencies as they go, and the causes with their whys. Keys: arrows choose a cause, p pauses, e shows the next engine
    of the page, l changes the language, q ends. The server is only read.
    """
    reading = asked.server(target)
    spec = FeedSpec(
        target=reading.target,
        interval_s=reading.interval_s,
        window_s=window_s or parse_duration(DEFAULT_WINDOW),
        access=reading.access,
        server_args=reading.server_args,
        slo=reading.slo,
    )
    if spec.window_s < 5 * spec.interval_s:
        raise UsageError("--window holds fewer than five scrapes", "Give a longer --window or a shorter --interval.")
    feed = Feed(spec)
    failure = _show(feed, reading.name, language(lang, asked.settings.lang))
    if failure is not None:
        raise failure
    return 0


def _show(feed: Feed, name: str, lang: str) -> WhystallError | None:
    try:
        from whystall.service.screen import Screen
    except ImportError as error:
        raise UsageError(f"whystall top needs the textual package: {error}", f"Install it: {INSTALL}") from error
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise UsageError("whystall top needs a terminal", "Without one: whystall diagnose TARGET.")
    return Screen(feed, name, lang).run()
