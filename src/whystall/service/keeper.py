"""What is kept on disk, and in memory while the disk is full."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Sequence

from whystall.errors import NotWritable, StoreLocked
from whystall.model.fleet import StoreState
from whystall.model.incident import Incident
from whystall.model.recording import SeriesKey, SeriesTable
from whystall.model.text import Text
from whystall.sources.archive.store import Archive, Habit
from whystall.sources.exposition import Page

from .error_words import in_chinese
from .log import Log

MOST_HELD = 20_000  # scrapes: 50 servers at 5 s for half an hour; the oldest go first
RETRY_S = 15.0
AGE_EVERY_S = 600.0
DAY_S = 86_400.0
_WRITING = (NotWritable, StoreLocked)


class Keeper:
    """Writes to the archive, and goes on where it cannot: the daemon watches without a disk, and says so."""

    def __init__(
        self,
        archive: Archive,
        log: Log,
        *,
        keep_s: float = 30 * DAY_S,
        full_s: float = 7 * DAY_S,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._archive = archive
        self._log = log
        self._keep_s, self._full_s = keep_s, full_s
        self._now = now
        self._held: deque[tuple[str, float, Page, Sequence[SeriesKey]]] = deque(maxlen=MOST_HELD)
        self._incidents: dict[int, Incident] = {}
        self._error = ""
        self._retry_at = 0.0
        self._aged = now()

    def add(self, target: str, t: float, page: Page, keys: Sequence[SeriesKey]) -> None:
        """Keep a page, or hold it until the disk takes it."""
        self._held.append((target, t, page, keys))
        self._flush()
        if self._now() - self._aged > AGE_EVERY_S and not self._error:
            self._aged = self._now()
            self._try(lambda: self._archive.age(self._now(), self._keep_s, self._full_s))

    def recent(self, target: str, now: float, span_s: float) -> SeriesTable:
        """What was kept of the last ``span_s`` seconds before ``now``."""
        return self._archive.table(target, now - span_s, now)

    def fail(self, target: str, t: float, error: str) -> None:
        """Keep that a scrape gave no page; while the disk is full that is not kept."""
        if not self._error:
            self._try(lambda: self._archive.fail(target, t, error))

    def write_incident(self, incident: Incident) -> int:
        """Keep an incident, or hold it."""
        self._incidents[incident.id] = incident
        self._flush()
        return incident.id

    def incidents(self, limit: int) -> list[Incident]:
        """The newest that are on disk."""
        return self._archive.incidents(limit)

    def habits(self, engine: str) -> dict[tuple[int, str], Habit]:
        """What was usual of ``engine``."""
        return self._archive.habits(engine)

    def write_habit(self, engine: str, hour: int, figure: str, habit: Habit) -> None:
        """Keep what is usual now; the next one says it again where this cannot be written."""
        if not self._error:
            self._try(lambda: self._archive.write_habit(engine, hour, figure, habit))

    def _flush(self) -> None:
        if self._error and self._now() < self._retry_at:
            return
        while self._incidents:
            number, incident = next(iter(self._incidents.items()))
            if not self._try(lambda one=incident: self._archive.write_incident(one)):  # type: ignore[misc]
                return
            del self._incidents[number]
        while self._held:
            target, t, page, keys = self._held[0]
            if not self._try(lambda a=target, b=t, c=page, d=keys: self._archive.add(a, b, c, d)):  # type: ignore[misc]
                return
            self._held.popleft()

    def _try(self, write: Callable[[], object]) -> bool:
        try:
            write()
        except _WRITING as error:
            if not self._error:
                self._log.error("the store cannot be written; watching goes on in memory", why=error.message)
            self._error, self._retry_at = error.message, self._now() + RETRY_S
            return False
        if self._error:
            self._log.warning("the store can be written again", held=len(self._held))
            self._error = ""
        return True

    def state(self) -> StoreState:
        """How it goes, for whoever asks."""
        path = self._archive.path
        try:
            size = path.stat().st_size
        except OSError:
            size = 0
        return StoreState(str(path), self._error, len(self._held), size, Text(self._error, in_chinese(self._error)))

    def close(self) -> None:
        """Write what is held, once more, and close."""
        self._retry_at = 0.0
        self._flush()
        self._archive.close()
