"""The whole daemon: watcher, HTTP face, signals, and a clean end."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, closing
from pathlib import Path

import msgspec

from whystall.errors import WhystallError
from whystall.model.duration import parse_duration
from whystall.sources.archive.store import Archive

from .api_incident_charts import kept_by
from .dashboard import Dashboard, windows_of
from .guard import Guard, require_token
from .health_reports import HealthReports
from .http import Face, serving
from .keeper import Keeper
from .ledger import Ledger
from .links import KeptRounds, Probing
from .log import Log
from .notices.receiver import Receiver
from .otlp_export import OtlpExport
from .server import Watching
from .settings import WatchSettings
from .static_files import open_paths
from .systemd import notify
from .target import WatchTarget
from .watcher import Receiver as Receive
from .watcher import Watcher
from .workers import Workers

DRAIN_S = 10.0  # for the last notices; systemd waits for 90


class Plan(msgspec.Struct, frozen=True):
    """What the daemon is to do. ``host`` "" serves no HTTP; ``seconds`` None runs until a signal comes.

    ``reload`` gives targets and settings again after a SIGHUP; it may raise, and then the old ones are watched on.
    ``store`` None keeps nothing but in memory, ``cases`` None makes no cases.
    ``traces`` is a folder of profiles that the dashboard offers to read.
    """

    targets: tuple[WatchTarget, ...]
    how: Watching = Watching()
    host: str = "127.0.0.1"
    port: int = 9400
    token: str = ""
    seconds: float | None = None
    store: Path | None = None
    cases: Path | None = None
    traces: Path | None = None
    settings: WatchSettings = WatchSettings()
    lang: str = "en"
    workers: int = 1
    reload: Callable[[], tuple[tuple[WatchTarget, ...], WatchSettings]] | None = None


async def watch(
    plan: Plan,
    log: Log,
    receivers: Sequence[Receive] = (),
    started: Callable[[str], None] | None = None,
) -> Watcher:
    """Watch until a signal or the time ends it; the watcher, with what was open in the end. ``started`` gets the address."""
    if plan.host:
        require_token(plan.host, plan.token)
    notices = [Receiver(one, log, plan.settings.external_url) for one in plan.settings.notices]
    stop = asyncio.Event()
    async with AsyncExitStack() as stack:
        workers = stack.enter_context(Workers(plan.workers))
        keeper = stack.enter_context(closing(_keeper(plan, log))) if plan.store is not None else None
        exports = [OtlpExport(plan.settings.otlp, log)] if plan.settings.otlp is not None else []
        told = [*receivers, *(notice.tell for notice in notices), *(export.tell for export in exports)]
        watcher = Watcher(plan.how, Ledger(keeper), workers, log, told, keeper, plan.cases)
        watcher.silences = plan.settings.silences
        watcher.dry_run = plan.settings.dry_run
        if plan.host:
            face = Face(watcher, Guard(plan.token, open_paths()), plan.cases, plan.lang)
            dashboard = Dashboard(windows_of(watcher.lookout), plan.cases, plan.traces, incidents=kept_by(watcher))
            url = await stack.enter_async_context(serving(face.app(dashboard.add_to), plan.host, plan.port))
            if started is not None:
                started(url)
        await stack.enter_async_context(_signals(stop, lambda: _reload(plan, watcher, log)))
        sending = _sending(plan, watcher, notices, exports, keeper, log)
        for notice in notices:  # whoever was told of an incident before a restart is told of its end
            notice.remember(watcher.ledger.open())
        watcher.aim(plan.targets)
        notify("READY=1")
        if plan.seconds is not None:
            asyncio.get_running_loop().call_later(plan.seconds, stop.set)
        await watcher.run(stop)
        notify("STOPPING=1")
        await _drain(notices, sending)
        log.info("stopped", scrapes=watcher.scrapes, looks=watcher.looks)
    return watcher


def _sending(
    plan: Plan,
    watcher: Watcher,
    notices: Sequence[Receiver],
    exports: Sequence[OtlpExport],
    keeper: Keeper | None,
    log: Log,
) -> list[asyncio.Task[None]]:
    """What runs beside the watching: it tells others, and asks them how far away they are."""
    probing = Probing(plan.settings.peers, watcher.links, watcher.lookout.pulse, KeptRounds(keeper).take)
    jobs = [probing.run(), *(notice.run() for notice in notices), *(export.run(watcher) for export in exports)]
    if plan.settings.report is not None:
        jobs.append(HealthReports(plan.settings.report, log, [notice.report for notice in notices]).run(watcher))
    return [asyncio.create_task(job) for job in jobs]


async def _drain(notices: Sequence[Receiver], sending: Sequence[asyncio.Task[None]]) -> None:
    """What was told goes out still, if its receiver answers in time."""
    if notices:
        await asyncio.wait([asyncio.create_task(notice.drained()) for notice in notices], timeout=DRAIN_S)
    for task in sending:
        task.cancel()
    await asyncio.gather(*sending, return_exceptions=True)


def _keeper(plan: Plan, log: Log) -> Keeper:
    assert plan.store is not None
    keep_s, full_s = parse_duration(plan.settings.keep), parse_duration(plan.settings.full)
    return Keeper(Archive.open(plan.store), log, keep_s=keep_s, full_s=full_s)


def _reload(plan: Plan, watcher: Watcher, log: Log) -> None:
    """Targets, silences and dry runs anew; the other settings hold from the next start on."""
    if plan.reload is None:
        return
    notify("RELOADING=1")
    try:
        targets, settings = plan.reload()
        watcher.silences = settings.silences
        watcher.dry_run = settings.dry_run
        watcher.aim(targets)
        log.info("read the configuration again", targets=len(targets))
    except WhystallError as error:
        log.error("the configuration cannot be used; the old one stays", why=error.message)
    notify("READY=1")


@asynccontextmanager
async def _signals(stop: asyncio.Event, reload: Callable[[], None]) -> AsyncIterator[None]:
    """SIGTERM and SIGINT end the watch, SIGHUP reads the configuration again."""
    loop = asyncio.get_running_loop()
    handlers = {signal.SIGTERM: stop.set, signal.SIGINT: stop.set, signal.SIGHUP: reload}
    for number, handler in handlers.items():
        loop.add_signal_handler(number, handler)
    try:
        yield
    finally:
        for number in handlers:
            loop.remove_signal_handler(number)
