"""``whystall watch``: watch servers, and tell when one stalls."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from pathlib import Path

import click
import msgspec

from whystall.cases.place import default_store
from whystall.errors import UsageError
from whystall.model.duration import parse_duration
from whystall.model.incident import Happening
from whystall.model.text import Text
from whystall.reports.checkup import render_checkup
from whystall.reports.incident_line import incident_line
from whystall.reports.json import to_json
from whystall.service.daemon import Plan
from whystall.service.daemon import watch as run_daemon
from whystall.service.discovery import discovers, require_question
from whystall.service.log import LEVELS, Log
from whystall.service.rehearsal import rehearse
from whystall.service.server import Watching
from whystall.service.settings import WatchSettings
from whystall.service.target import WatchTarget, short_name
from whystall.sources.files.recording import argv_of

from .keeping import store_path
from .language import language
from .options import ACCESS, LANG, SERVER_ARGS, SLO, duration_option, reading_options
from .reading import Asked, Reading, token_of
from .settings import load_settings

TOKEN_VARIABLE = "WHYSTALL_LISTEN_TOKEN"
STORE_NAME = "watch.sqlite"
DEFAULT_LISTEN = "127.0.0.1:9400"
DEFAULT_INTERVAL_S = 5.0
COULD_NOT_TELL = 3
_NO_FACE = "off"  # one look needs none, and the daemon that runs beside it may have the port
ONCE_S = 45.0  # enough scrapes at the default interval for a first answer
_SERVING = Text("watching {count} target{s}{time}{where}", "正在监视 {count} 个目标{time}{where}")

_UNSEEN = Text("{name}: could not tell: {why}", "{name}：无法判断：{why}")
_INTERVAL = duration_option("--interval", "interval_s", f"Time between scrapes [default: {DEFAULT_INTERVAL_S:g}s].")


@click.command()
@click.argument("targets", nargs=-1)
@click.option(
    "--listen", help=f"HOST:PORT of the HTTP interface, or 'off' [default: {DEFAULT_LISTEN}; off with --once]."
)
@click.option(
    "--listen-token-file", type=click.Path(exists=True, dir_okay=False, path_type=Path), help="Its bearer token."
)
@click.option(
    "--traces", type=click.Path(exists=True, file_okay=False, path_type=Path), help="Folder of profiles to offer."
)
@click.option(
    "--store",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Where samples and incidents are kept [default: watch.sqlite in the state folder]; not with --once.",
)
@duration_option("--for", "seconds", "End after this time [default: run until a signal].")
@click.option("--check", is_flag=True, help="Try what would be read and told, each once, and end.")
@click.option("--once", is_flag=True, help="Look once, say what is wrong, and end.")
@click.option("--json", "json_", is_flag=True, help="What happens as one JSON object a line.")
@click.option("--log-format", type=click.Choice(["text", "json"]), default="text", show_default=True)
@click.option("--log-level", type=click.Choice(LEVELS), default="warning", show_default=True)
@reading_options(_INTERVAL, SLO, SERVER_ARGS, *ACCESS)
@LANG
def watch(
    targets: tuple[str, ...],
    listen: str | None,
    listen_token_file: Path | None,
    traces: Path | None,
    store: Path | None,
    seconds: float | None,
    check: bool,
    once: bool,
    json_: bool,
    log_format: str,
    log_level: str,
    asked: Asked,
    lang: str | None,
) -> int:
    """Watch servers, and tell you when one stalls.

    TARGETS are addresses (a server, prometheus+http://, k8s://namespace/deployment, ray+http://) or names from
    whystall.toml; without any, all that stand there. Prints incidents as they open, change and close. Exits 1 where one is
    open in the end, 0 where none is. With --check it exits 3 where something does not answer or cannot be read.
    """
    settings = asked.settings.watch
    host, port = listening(listen or (_NO_FACE if once else settings.listen or DEFAULT_LISTEN))
    plan = Plan(
        targets=watched(asked, targets),
        how=Watching(interval_s=interval_of(asked)),
        host=host,
        port=port,
        token=token_of(listen_token_file) if listen_token_file else os.environ.get(TOKEN_VARIABLE, "").strip(),
        seconds=ONCE_S if once and seconds is None else seconds,
        traces=traces,
        store=None if once and store is None else store or default_place(settings),
        cases=None if once else store_path(None, asked.settings),
        settings=settings,
        lang=language(lang, asked.settings.lang),
        reload=lambda: _reloaded(asked, targets),
    )
    if check:
        return _checked(plan, json_)
    return _run(plan, Log("json" if log_format == "json" else "text", log_level), json_)


def _run(plan: Plan, log: Log, json_: bool) -> int:
    """Watch to the end; 1 where an incident is open then, 3 where a target never gave a page."""
    greet = _greeter(plan.lang, len(plan.targets), plan.seconds)
    if not plan.host:
        greet("")
    watcher = asyncio.run(run_daemon(plan, log, [_teller(plan.lang, json_)], greet))
    if any(incident.state == "open" for incident in watcher.lookout.open_incidents()):
        return 1
    unseen = [server for server in watcher.lookout.servers.values() if server.failed and not server.scrapes]
    for server in unseen:
        click.echo(_UNSEEN.format(name=server.name, why=server.error_text).in_(plan.lang), err=True)
    return COULD_NOT_TELL if unseen else 0


def _checked(plan: Plan, json_: bool) -> int:
    found = asyncio.run(rehearse(plan))
    click.echo(to_json(found, plan.lang) if json_ else render_checkup(found, plan.lang))
    return COULD_NOT_TELL if any(one.state != "ok" for one in (*found.reachable, *found.readable)) else 0


def _teller(lang: str, json_: bool) -> Callable[[Happening], None]:
    return lambda happening: click.echo(to_line(happening, lang, json_))


def _greeter(lang: str, count: int, seconds: float | None) -> Callable[[str], None]:
    def greet(url: str) -> None:
        time = Text(f" for {seconds:g} s", f"，{seconds:g} 秒") if seconds is not None else ""
        where = Text(f"; {url}", f"；{url}") if url else ""
        click.echo(
            _SERVING.format(count=count, s="" if count == 1 else "s", time=time, where=where).in_(lang), err=True
        )

    return greet


def to_line(happening: Happening, lang: str, json_: bool) -> str:
    """What happened as one line of text, or as one JSON object."""
    return to_json(happening, lang).replace("\n", "") if json_ else incident_line(happening, lang)


def listening(text: str) -> tuple[str, int]:
    """The host and port of ``HOST:PORT``; ("", 0) for ``off``. Raises UsageError."""
    if text == "off":
        return "", 0
    host, colon, port = text.rpartition(":")
    if not colon or not port.isascii() or not port.isdigit() or int(port) > 65535:
        raise UsageError(f"--listen: {text!r} is not HOST:PORT", "Write 127.0.0.1:9400, [::1]:9400 or off.")
    return host.strip("[]") or "127.0.0.1", int(port)


def interval_of(asked: Asked) -> float:
    """Seconds between scrapes: as asked, else as configured, else 5 s, which is what Prometheus setups of vLLM use."""
    configured = asked.settings.watch.interval
    return asked.interval_s or (parse_duration(configured) if configured else DEFAULT_INTERVAL_S)


def watched(asked: Asked, targets: tuple[str, ...]) -> tuple[WatchTarget, ...]:
    """The targets that were named, or all of the configuration. Raises UsageError where there are none."""
    names = targets or tuple(asked.settings.targets)
    if not names:
        raise UsageError("there is nothing to watch", "Give addresses, or put [targets.NAME] into whystall.toml.")
    found: dict[str, WatchTarget] = {}
    for text in names:
        reading = asked.server(text)
        name = short_name(text)
        if name in found and found[name].target != reading.target:
            name = f"{name}-{len(found) + 1}"
        found[name] = _watch_target(name, reading)
    return tuple(found.values())


def _watch_target(name: str, reading: Reading) -> WatchTarget:
    beside = reading.companions
    if discovers(reading.target):
        require_question(reading.target)
        if beside or reading.log is not None or reading.kernel_log is not None:
            raise UsageError(
                f"{name}: log, kernel_log, dcgm, node_exporter and otlp_listen go with a server's own address",
                "A Prometheus, a Ray cluster and Kubernetes tell of several servers, and of their hosts themselves.",
            )
    return WatchTarget(
        name,
        reading.target,
        reading.access,
        reading.slo,
        argv_of(reading.server_args) if reading.server_args else (),
        log=reading.log,
        kernel_log=reading.kernel_log,
        exporters=tuple(url for url in (beside.dcgm, beside.node_exporter) if url),
        otlp_listen=beside.otlp_listen,
        beside=reading.beside,
        actuator=reading.actuator,
    )


def default_place(settings: WatchSettings) -> Path:
    """Where the store is: as configured, else beside the cases."""
    return Path(settings.store).expanduser() if settings.store else default_store(os.environ).with_name(STORE_NAME)


def _reloaded(asked: Asked, targets: tuple[str, ...]) -> tuple[tuple[WatchTarget, ...], WatchSettings]:
    again = msgspec.structs.replace(asked, settings=load_settings(asked.config))
    return watched(again, targets), again.settings.watch
