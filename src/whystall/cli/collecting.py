"""A target, live or recorded, becomes a recording, with the progress shown."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click
import psutil
from msgspec.structs import replace

from whystall.errors import NotARecording, Unreachable, UsageError
from whystall.model.recording import FailedScrape, Recording, SeriesTable
from whystall.model.target import Target
from whystall.model.text import Text
from whystall.sources.files.kernel_log import read_kernel_log
from whystall.sources.files.log_file import read_log_file
from whystall.sources.files.recording import argv_of, log_anchor, read_recording
from whystall.sources.files.ticket import is_ticket, read_ticket
from whystall.sources.kubernetes.question import is_kubernetes, parse_kubernetes
from whystall.sources.kubernetes.reader import read_kubernetes
from whystall.sources.live.address import is_there, looks_like_a_path
from whystall.sources.live.collector import CollectSpec, Progress, collect
from whystall.sources.log import read_log
from whystall.sources.prometheus.question import is_question, parse_question
from whystall.sources.prometheus.reader import read_prometheus
from whystall.sources.ray.question import is_ray, parse_ray, ray_token
from whystall.sources.ray.reader import read_ray

from .companions import with_companions
from .reading import Reading

_WHOLE = Text(
    "note: --for and --interval are for a live server; the recording is read whole",
    "注意：--for 与 --interval 只用于在线服务器；录制的内容会被完整读取",
)
_LOOKING = Text("looking", "正在观察")
_SCRAPES = Text("{scrapes} scrapes", "{scrapes} 次抓取")
_FAILED = Text("{scrapes} scrapes, {failed} failed", "{scrapes} 次抓取，{failed} 次失败")


def recording_of(reading: Reading, lang: str) -> Recording:
    """What is to be seen of the target: a folder's or a ticket's recording, or a live server's after ``reading.seconds``.

    With a folder, a log and a command line that were named take the place of the folder's own. Raises what reading
    raises, and :class:`~whystall.errors.NotARecording` for a path that is not there.
    """
    if _tells_of_several(reading.target):
        return _the_only(recordings_of(reading, lang))
    if is_there(reading.target):
        path = Path(reading.target)
        _require_none(reading)
        if reading.timed:
            click.echo(_WHOLE.in_(lang), err=True)
        return _with_named(read_ticket(path) if is_ticket(path) else read_recording(path), reading)
    if looks_like_a_path(reading.target):
        raise NotARecording(f"there is no {reading.target}", "Give a server's address, or a folder that is there.")
    try:
        with shown_progress(lang) as show:
            return asyncio.run(_looked(reading, collect(collect_spec(reading), progress=show)))
    except Unreachable as error:
        if reading.log is None:
            raise
        return _unanswered(reading, error)


async def _looked(reading: Reading, looking: Coroutine[Any, Any, Recording]) -> Recording:
    if not reading.companions:
        return await looking
    return await with_companions(looking, reading.companions, reading.seconds, reading.interval_s, reading.access)


def _tells_of_several(target: str) -> bool:
    return is_question(target) or is_ray(target) or is_kubernetes(target)


def _require_none(reading: Reading) -> None:
    if reading.companions:
        raise UsageError(
            "--dcgm, --node-exporter, --otlp-listen, --jaeger, --zipkin and --peer go with a server's own address",
            "a Prometheus and a Ray cluster tell of GPUs and hosts themselves; a recording has what was recorded",
        )


def _the_only(recordings: dict[str, Recording]) -> Recording:
    if len(recordings) == 1:
        return next(iter(recordings.values()))
    names = ", ".join(list(recordings)[:5])
    raise UsageError(
        f"the target names {len(recordings)} servers, and one is wanted: {names}",
        "narrow it: ?instance=HOST:PORT of a Prometheus, ?deployment=NAME of a Ray cluster; diagnose takes all",
    )


def recordings_of(reading: Reading, lang: str) -> dict[str, Recording]:
    """As :func:`_recordings`, with what the kernel's log tells where one was named."""
    if reading.kernel_log is None:
        return _recordings(reading, lang)
    kernel = read_kernel_log(reading.kernel_log, psutil.boot_time())
    return {name: replace(one, log=(*one.log, *kernel)) for name, one in _recordings(reading, lang).items()}


def _recordings(reading: Reading, lang: str) -> dict[str, Recording]:
    """As :func:`recording_of`, by server: a Prometheus, a Ray cluster or a Deployment tells of several."""
    if _tells_of_several(reading.target):
        _require_none(reading)
    if is_kubernetes(reading.target):
        pods = parse_kubernetes(reading.target)
        return asyncio.run(read_kubernetes(pods, reading.seconds, reading.interval_s, reading.access, reading.name))
    if is_ray(reading.target):
        return _of_ray(reading)
    if not is_question(reading.target):
        return {reading.target: recording_of(reading, lang)}
    question = parse_question(reading.target)
    return asyncio.run(read_prometheus(question, reading.seconds, reading.access, reading.name))


def _of_ray(reading: Reading) -> dict[str, Recording]:
    access = reading.access.or_token(ray_token())
    return asyncio.run(read_ray(parse_ray(reading.target), reading.seconds, reading.interval_s, access, reading.name))


def _unanswered(reading: Reading, error: Unreachable) -> Recording:
    """A server that does not answer, with its log: that one may say why."""
    failed = FailedScrape(time.time(), type(error).__name__)
    nothing = replace(SeriesTable.empty(), failed=(failed,))
    return _with_named(Recording(target=Target(reading.target), metrics=nothing), reading)


def _with_named(recording: Recording, reading: Reading) -> Recording:
    if reading.server_args:
        recording = replace(recording, argv=argv_of(reading.server_args))
    if reading.log is None:
        return recording
    file = read_log_file(reading.log)
    lines = read_log(file.lines, log_anchor(recording.metrics))
    return replace(recording, log=lines, warnings=(*recording.warnings, *file.warnings))


def collect_spec(reading: Reading) -> CollectSpec:
    """What to collect of the server that ``reading`` names."""
    return CollectSpec(
        target=reading.target,
        seconds=reading.seconds,
        interval_s=reading.interval_s,
        access=reading.access,
        log=reading.log,
        server_args=reading.server_args,
        beside=reading.beside,
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
