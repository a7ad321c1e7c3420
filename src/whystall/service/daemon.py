"""The whole daemon: watcher, HTTP face, signals, and a clean end."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import msgspec

from whystall.errors import WhystallError

from .dashboard import Dashboard, windows_of
from .guard import Guard, require_token
from .http import Face, serving
from .ledger import Ledger
from .log import Log
from .server import Watching
from .static_files import open_paths
from .systemd import notify
from .target import WatchTarget
from .watcher import Receiver, Watcher
from .workers import Workers


class Plan(msgspec.Struct, frozen=True):
    """What the daemon is to do. ``host`` "" serves no HTTP; ``seconds`` None runs until a signal comes.

    ``traces`` is a folder of profiles that the dashboard offers to read.

    ``reload`` gives the targets again after a SIGHUP; it may raise, and then the old ones are watched on.
    """

    targets: tuple[WatchTarget, ...]
    how: Watching = Watching()
    host: str = "127.0.0.1"
    port: int = 9400
    token: str = ""
    seconds: float | None = None
    cases: Path | None = None
    traces: Path | None = None
    lang: str = "en"
    workers: int = 1
    reload: Callable[[], tuple[WatchTarget, ...]] | None = None


async def watch(
    plan: Plan, log: Log, receivers: Sequence[Receiver] = (), started: Callable[[str], None] | None = None
) -> Watcher:
    """Watch until a signal or the time ends it; the watcher, with what was open in the end. ``started`` gets the address."""
    require_token(plan.host, plan.token) if plan.host else None
    stop = asyncio.Event()
    async with AsyncExitStack() as stack:
        workers = stack.enter_context(Workers(plan.workers))
        watcher = Watcher(plan.how, Ledger(), workers, log, receivers)
        if plan.host:
            face = Face(watcher, Guard(plan.token, open_paths()), plan.cases, plan.lang)
            dashboard = Dashboard(windows_of(watcher.lookout), plan.cases, plan.traces)
            url = await stack.enter_async_context(serving(face.app(dashboard.add_to), plan.host, plan.port))
            started(url) if started else None
        await stack.enter_async_context(_signals(stop, lambda: _reload(plan, watcher, log)))
        watcher.aim(plan.targets)
        notify("READY=1")
        if plan.seconds is not None:
            asyncio.get_running_loop().call_later(plan.seconds, stop.set)
        await watcher.run(stop)
        notify("STOPPING=1")
        log.info("stopped", scrapes=watcher.scrapes, looks=watcher.looks)
    return watcher


def _reload(plan: Plan, watcher: Watcher, log: Log) -> None:
    if plan.reload is None:
        return
    notify("RELOADING=1")
    try:
        watcher.aim(plan.reload())
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
