"""``whystall record``: what a server says, kept in a folder."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click
import msgspec

from whystall.model.recording import SeriesTable
from whystall.model.text import Text
from whystall.sources.dialects import quantity
from whystall.sources.files.metrics import read_metrics
from whystall.sources.live.address import Address
from whystall.sources.live.collector import CollectSpec, Progress, collect
from whystall.sources.live.mixed import find_mixed
from whystall.sources.live.recorder import Recorder
from whystall.sources.live.redaction import Redactor
from whystall.sources.live.sink import Partial

from .collecting import collect_spec, shown_progress, told
from .language import language
from .options import ACCESS, COMPANIONS, FOR, INTERVAL, LANG, LOG, SERVER_ARGS, reading_options
from .reading import Asked, Reading
from .recording_beside import beside

INTERRUPTED = 130
_CHECKED_SCRAPES = 20_000  # reading more back would take long after a recording of many hours
_DONE = Text("{folder}: {told}", "{folder}：{told}")
_NEXT = Text("Next: whystall diagnose {folder}", "下一步：whystall diagnose {folder}")
_MIXED = Text(
    "The pages come from at least {servers} servers in turn, so no rate between them means anything: "
    "record each server's own address.",
    "这些页面轮流来自至少 {servers} 个服务器，其间的速率没有意义：请分别录制各服务器自身的地址。",
)
_NO_ENGINE = Text(
    "No metric of a vLLM or SGLang engine is on these pages: check the port, or --disable-log-stats of the server.",
    "这些页面上没有 vLLM 或 SGLang 引擎的指标：请检查端口，或服务器的 --disable-log-stats。",
)
_REDACTED = Text(
    "Names, hosts, addresses, paths and prompts are replaced. Look through the files before you hand them on.",
    "名称、主机、地址、路径和提示词已被替换。转交前请自行检查这些文件。",
)


@click.command()
@click.argument("target")
@click.option("-o", "--output", "folder", required=True, type=click.Path(path_type=Path), help="The folder to write.")
@click.option("--redact", is_flag=True, help="Leave no names, hosts, addresses, paths or prompts in any file.")
@click.option("--force", is_flag=True, help="Write over a recording that is in the folder.")
@reading_options(FOR, INTERVAL, LOG, SERVER_ARGS, *ACCESS, *COMPANIONS)
@LANG
def record(target: str, folder: Path, redact: bool, force: bool, asked: Asked, lang: str | None) -> int:
    """Keep what a server says in a folder, to diagnose or replay later.

    TARGET is a server's address or its name in whystall.toml. Each scrape is on disk when it is done, so a
    recording that is killed can be read. Ctrl-C or SIGTERM end it early; what was recorded is whole.
    """
    reading = asked.server(target)
    spec = msgspec.structs.replace(collect_spec(reading), keep=False)
    tongue = language(lang, asked.settings.lang)
    address = Address.parse(spec.target)
    redactor = Redactor(address, (*spec.access.secrets, *address.secrets)) if redact else None
    with Recorder(folder, redactor, force) as recorder, shown_progress(tongue) as bar:
        last, interrupted = asyncio.run(_record(spec, recorder, bar, reading))
    _tell(folder, last, redact, tongue)
    return INTERRUPTED if interrupted else 0


async def _record(spec: CollectSpec, recorder: Recorder, bar: object, reading: Reading) -> tuple[Progress, bool]:
    last = Progress(0.0, spec.seconds, 1, 0)

    def progress(now: Progress) -> None:
        nonlocal last
        last = now
        if callable(bar):
            bar(now)

    stop = asyncio.Event()
    named = reading.companions
    sink = Partial(recorder, gpu=not named.dcgm, host=not named.node_exporter)
    more = beside(recorder, named, reading.kernel_log, spec.interval_s, spec.access.timeout_s)
    with _stopped_by_signals(stop) as seen:
        async with more:
            await collect(spec, sink=sink, progress=progress, stop=stop)
    return last, signal.SIGINT in seen


@contextmanager
def _stopped_by_signals(stop: asyncio.Event) -> Iterator[set[signal.Signals]]:
    """A first signal ends the recording in good order; the handlers go with the block, so a later one ends all."""
    loop = asyncio.get_running_loop()
    seen: set[signal.Signals] = set()

    def end(number: signal.Signals) -> None:
        seen.add(number)
        stop.set()

    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, end, number)
    try:
        yield seen
    finally:
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.remove_signal_handler(number)


def _of_an_engine(pages: SeriesTable) -> bool:
    known = (quantity(key.name) for key in pages.keys)
    return any(found is not None and found.name == "num_requests_running" for found in known)


def _tell(folder: Path, last: Progress, redact: bool, lang: str) -> None:
    click.echo(_DONE.format(folder=folder, told=told(last, lang)).in_(lang))
    seen = read_metrics(folder / "metrics.prom.gz").table if last.scrapes < _CHECKED_SCRAPES else None
    mixed = find_mixed(seen) if seen is not None else None
    if seen is not None and not _of_an_engine(seen):
        click.echo(_NO_ENGINE.in_(lang), err=True)
    if mixed is not None:
        click.echo(_MIXED.format(servers=mixed.servers).in_(lang), err=True)
    if redact:
        click.echo(_REDACTED.in_(lang))
    click.echo(_NEXT.format(folder=folder).in_(lang))
