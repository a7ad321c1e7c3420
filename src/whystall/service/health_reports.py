"""Health reports at their times: into a folder, and to whoever wants them."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

from whystall.model.duration import parse_duration
from whystall.model.health import HealthReport
from whystall.reports.health import health_markdown
from whystall.reports.json import to_json

from .health import health
from .log import Log
from .settings import ReportSettings
from .watcher import Watcher

_LOOK_S = 60.0  # a clock that is set, or a machine that slept, is noticed within that


def next_due(after: float, every_s: float, at: str, zone: str) -> float:
    """The first moment after ``after`` (unix seconds) that is ``at`` (``08:00`` in ``zone``) or so many periods from it.

    Of whole days each is at that time of day, also where a clock is put forward or back in between.
    """
    here = ZoneInfo(zone)
    hours, minutes = map(int, at.split(":"))
    local = datetime.fromtimestamp(after, here)
    anchor = local.replace(hour=hours, minute=minutes, second=0, microsecond=0) - timedelta(days=1)
    days, rest = divmod(every_s, 86_400.0)
    if rest:
        first = anchor.timestamp()
        return first + every_s * (int((after - first) // every_s) + 1)
    # Days of a period of several are counted from one Monday, so that a restart moves nothing.
    while anchor.timestamp() <= after or (anchor.date().toordinal() - 1) % int(days):
        anchor += timedelta(days=1)
    return anchor.timestamp()


class HealthReports:
    """Makes them until it is cancelled. ``receivers`` get each; what cannot be written is named in the log."""

    def __init__(
        self,
        settings: ReportSettings,
        log: Log,
        receivers: Sequence[Callable[[HealthReport], None]] = (),
        now: Callable[[], float] = time.time,
    ) -> None:
        self._settings = settings
        self._every_s = parse_duration(settings.every)
        self._log = log
        self._receivers = list(receivers)
        self._now = now

    async def run(self, watcher: Watcher) -> None:
        """One at each of its times."""
        settings = self._settings
        while True:
            due = next_due(self._now(), self._every_s, settings.at, settings.zone)
            while self._now() < due:
                await asyncio.sleep(min(max(due - self._now(), 0.0), _LOOK_S))
            await self.once(watcher, due)

    async def once(self, watcher: Watcher, until: float) -> HealthReport:
        """The report of the period that ends at ``until``."""
        report = health(watcher, until - self._every_s, until)
        if self._settings.folder:
            await asyncio.to_thread(self._write, report)
        for receive in self._receivers:
            receive(report)
        self._log.info("health report", engines=len(report.engines), incidents=len(report.incidents))
        return report

    def _write(self, report: HealthReport) -> None:
        folder, lang = Path(self._settings.folder).expanduser(), self._settings.lang
        name = f"health-{datetime.fromtimestamp(report.until, UTC):%Y-%m-%dT%H%MZ}"
        texts = {".md": health_markdown(report, lang), ".json": to_json(report, lang) + "\n"}
        try:
            folder.mkdir(parents=True, exist_ok=True)
            for suffix, text in texts.items():
                (folder / f"{name}{suffix}").write_text(text, encoding="utf-8", errors="replace")
        except OSError as error:
            self._log.error("a health report cannot be written", folder=str(folder), why=error.strerror)
