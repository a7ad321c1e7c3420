"""``whystall profile``: how to record a profile of a server, or a bounded window of it right now."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import cast

import click
import psutil

from whystall.cli.options import ACCESS, duration_option, output_options, reading_options
from whystall.cli.output import Output
from whystall.cli.reading import Asked, Reading
from whystall.errors import Refused, UsageError, WhystallError
from whystall.model.text import Text
from whystall.profiles.capture import TOOLS, Capture, Facts, Tool, capture, sampling, start_arguments
from whystall.reports.capture import render_capture
from whystall.reports.json import to_json
from whystall.sources.live.address import Address, is_this_host
from whystall.sources.live.http import Session
from whystall.sources.live.processes import find_server
from whystall.trials.profiler_window import MAX_SECONDS, WindowResult, can_profile, profile_window

DEFAULT_SECONDS = 5.0


@click.command()
@click.argument("target", required=False)
@click.option("--tool", type=click.Choice(TOOLS), default="torch", help="What to record with [default: torch].")
@click.option("--steps", type=click.IntRange(1, 1000), default=50, help="Engine steps at most [default: 50].")
@click.option("--folder", type=click.Path(path_type=Path), help="Where the server writes its traces, if it is here.")
@click.option("--allow-stall", is_flag=True, help="Record now, though the server stands still while it writes.")
@duration_option("--for", "seconds", "Seconds at most [default: 5s].")
@reading_options(*ACCESS)
@output_options(("text", "json"))
def profile(
    target: str | None,
    tool: str,
    steps: int,
    folder: Path | None,
    allow_stall: bool,
    seconds: float | None,
    asked: Asked,
    output: Output,
) -> int:
    """Profile some steps of a server, and say where their time went.

    Prints the commands; with --allow-stall it records a window, bounded by steps and seconds, and reads it.
    Without TARGET the commands are general; with it they are for that server's version and how it was started.
    """
    bound = min(seconds or DEFAULT_SECONDS, MAX_SECONDS)
    if target is None:
        if allow_stall:
            raise UsageError("--allow-stall needs a TARGET", "Give the server's address.")
        facts = Facts(steps=steps, seconds=bound, folder=str(folder or Facts().folder))
        return _print(capture(cast(Tool, tool), facts), output)
    reading = asked.server(target)
    if allow_stall:
        return _run(reading, tool, steps, bound, folder, output)
    facts = asyncio.run(_facts(reading, steps, bound, folder))
    return _print(capture(cast(Tool, tool), facts), output)


def _print(found: Capture, output: Output) -> int:
    if output.format == "json":
        output.write(to_json(found, output.lang))
    else:
        output.write(render_capture(found, output.lang, output.width, output.colour))
    return 0


async def _facts(reading: Reading, steps: int, seconds: float, folder: Path | None) -> Facts:
    address = Address.parse(reading.target)
    async with Session(address, reading.access) as session:
        version = await _field(session, "/version", "version")
        model = await _model(session)
        started = await can_profile(session)
    processes = find_server(address.port) if is_this_host(address) else None
    engine = next((p.pid for p in processes.processes if p.role == "engine"), None) if processes else None
    return Facts(
        address=address.base,
        version=version,
        profiler="torch" if started else "",
        model=model or "MODEL",
        engine_pid=engine,
        folder=str(folder or Facts().folder),
        steps=steps,
        seconds=seconds,
        sampling=_sampling(engine),
    )


async def _field(session: Session, path: str, name: str) -> str:
    try:
        answer = await session.get(path)
        found = json.loads(answer.body) if answer.status == 200 else {}
    except (WhystallError, ValueError):
        return ""
    value = found.get(name) if isinstance(found, dict) else None
    return value if isinstance(value, str) else ""


async def _model(session: Session) -> str:
    """The served model's name where it is a plain word; it goes into a shell command."""
    try:
        answer = await session.get("/v1/models")
        name = json.loads(answer.body)["data"][0]["id"]
    except (WhystallError, ValueError, KeyError, IndexError, TypeError):
        return ""
    return name if isinstance(name, str) and all(c.isalnum() or c in "-_./:" for c in name) else ""


def _sampling(pid: int | None) -> str:
    if pid is None:
        return ""
    try:
        return sampling(psutil.Process(pid).environ())
    except psutil.Error:
        return ""


_WARNING = Text(
    "Profiling {address}: at most {steps} steps or {seconds:g} s; steps are slower, then the server stands still while it "
    "writes (seconds to minutes). /stop_profile is sent at the end, also on Ctrl-C.",
    "正在采集 {address}：最多 {steps} 步或 {seconds:g} 秒；期间每步变慢，之后写文件时服务器停顿（数秒到数分钟）。"
    "结束时（包括 Ctrl-C）会发送 /stop_profile。",
)


def _run(reading: Reading, tool: str, steps: int, seconds: float, folder: Path | None, output: Output) -> int:
    if tool != "torch":
        raise UsageError(f"--allow-stall records with torch only, not {tool}", "Without it the commands are printed.")
    if reading.protected:
        raise Refused(
            f"{reading.name} is protected in whystall.toml: it is never stalled", "Profile a replica instead."
        )
    output.check()
    address = Address.parse(reading.target)
    said = _WARNING.format(address=address.base, steps=steps, seconds=seconds)
    click.echo(said.in_(output.lang), err=True)
    result = asyncio.run(_window(reading, address, steps, seconds, folder))
    click.echo(f"{result.seconds:.1f} s profiled, {result.stall_s:.1f} s of stall", err=True)
    return _read(result, folder, output)


async def _window(reading: Reading, address: Address, steps: int, seconds: float, folder: Path | None) -> WindowResult:
    async with Session(address, reading.access) as session:
        if not await can_profile(session):
            raise Refused(
                f"{address.base} was not started with a profiler, so it cannot be profiled over HTTP",
                f"Start it with: {start_arguments(Facts(version=await _field(session, '/version', 'version')))}",
            )
        return await profile_window(session, steps, seconds, folder, lambda text: click.echo(text, err=True))


def _read(result: WindowResult, folder: Path | None, output: Output) -> int:
    """The traces where they can be reached, analysed; else where they are."""
    if not result.files:
        where = f"no new file in {folder}" if folder else "they are in torch_profiler_dir on the server's host"
        click.echo(f"Traces: {where}. Read them with: whystall trace FILES", err=True)
        return 0
    from whystall.profiles.files import TraceOptions, report_of
    from whystall.reports.trace_text import render_trace

    report = report_of([Path(path) for path in result.files], TraceOptions())
    if output.format == "json":
        output.write(to_json(report, output.lang))
    else:
        output.write(render_trace(report, output.lang, output.width, output.colour))
    return 0
