"""A live reading, with its progress shown."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from whystall.model.text import Text
from whystall.sources.live.collector import CollectSpec, Progress

from .reading import Reading

_LOOKING = Text("looking", "正在观察")
_SCRAPES = Text("{scrapes} scrapes", "{scrapes} 次抓取")
_FAILED = Text("{scrapes} scrapes, {failed} failed", "{scrapes} 次抓取,{failed} 次失败")


def collect_spec(reading: Reading) -> CollectSpec:
    """What to collect of the server that ``reading`` names."""
    return CollectSpec(
        target=reading.target,
        seconds=reading.seconds,
        interval_s=reading.interval_s,
        access=reading.access,
        log=reading.log,
        server_args=reading.server_args,
    )


@contextmanager
def shown_progress(lang: str) -> Iterator[Callable[[Progress], None] | None]:
    """A bar on the standard error, to be given to ``collect``; None where that is no terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[told]}"), TimeRemainingColumn())
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(_LOOKING.in_(lang), total=None, told="")
        yield lambda now: bar.update(task, completed=now.seconds, total=now.of_seconds, told=told(now, lang))


def told(now: Progress, lang: str) -> str:
    """How many scrapes there were, and how many of them failed where any did."""
    text = _FAILED if now.failed else _SCRAPES
    return text.format(scrapes=now.scrapes, failed=now.failed).in_(lang)
