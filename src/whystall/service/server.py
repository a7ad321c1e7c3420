"""One server that is watched: its pages, its engines, what was found last."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence

import msgspec
import numpy as np

from whystall.evidence.bounds import bounds
from whystall.model.diagnosis import Engine
from whystall.model.incident import Forecast, Incident
from whystall.model.recording import Recording, SeriesKey, SeriesTable
from whystall.model.slo import Slo
from whystall.model.target import Target
from whystall.model.text import Text
from whystall.sources.exposition import Page
from whystall.sources.files.recording import version_of
from whystall.sources.live.access import Access
from whystall.sources.live.facts import ServerFacts

from .attention import Usual, felt_late, reason, still_late
from .burn import burn_rates
from .course import Course
from .error_words import error_text
from .figures import Figures, Index
from .forecast import forecast
from .habits import Habits, HabitStore
from .look import Job, Looked, Seen
from .window import Window, dense
from .witness import Witness

# Scrapes in a row without a page, over so many seconds: one or two are a network's hiccup, and a small server's restart
# takes some seconds. Where one scrape in ten is lost by chance, three in a row come every hour or so, six once in months.
LOST_AFTER, LOST_S, LOST_SURELY = 3, 25.0, 6
# Where pages were lost lately, as many in a row are needed as come by chance once in so many scrapes (17 days of 15 s).
LOST_BY_CHANCE = 1e-5

_NO_PAGE, _NO_MORE = (
    Text("No page: {why}", "没有指标页面：{why}"),
    Text("No page any more: {why}", "不再有指标页面：{why}"),
)


class Watching(msgspec.Struct, frozen=True):
    """How one watches, in seconds of the server's clock.

    ``window_s`` is diagnosed every ``tick_s`` where something asks for it, else every ``calm_every_s``. While an incident
    is open the window reaches back to ``before_s`` before its begin, ``longest_s`` at most. ``tail_s`` must be calm
    before it is over.
    """

    interval_s: float = 5.0
    window_s: float = 300.0
    tick_s: float = 12.0
    calm_every_s: float = 60.0
    tail_s: float = 60.0
    before_s: float = 150.0
    longest_s: float = 900.0


class EngineSeen:
    """One engine of a server: its last figures, its course, what the last full look found."""

    def __init__(self, id: str, label: str, target: str, slo: Slo | None, store: HabitStore | None = None) -> None:
        self.id = id
        self.label = label
        self.course = Course(id, target, Engine(id=label))
        self.figures: deque[Figures] = deque()
        self._usual = Usual()
        self.habits = Habits(id, store)
        self.burn = burn_rates(slo)
        self.seen: Seen | None = None
        self.forecast: Forecast | None = None
        self.cost_s = 0.0

    def add(self, figures: Figures, keep_s: float) -> None:
        """Take a page's figures in, and let go of those older than ``keep_s``."""
        for rate in self.burn:
            rate.add(figures)
        figures.buckets = {}  # only the burn rates need them, and they are most of it
        self.figures.append(figures)
        while self.figures[0].t < figures.t - keep_s:
            self.figures.popleft()

    def usual(self) -> Usual:
        """What is usual at this hour of the week, as far as it is known, else lately."""
        return self.habits.usual(self.figures[-1].t, self._usual) if self.figures else self._usual

    def learn(self, figures: list[Figures]) -> None:
        """Take a calm stretch in."""
        self._usual.learn(figures)
        self.habits.learn(figures)

    def seats(self) -> float | None:
        """How many requests may run at a time, where the last look knew it."""
        limits = self.seen.diagnosis.limits if self.seen else ()
        return next((limit.value for limit in limits if limit.name == "max_num_seqs"), None)


class Server:
    """One target. ``ids`` gives the name under which an engine's label is in the API."""

    def __init__(self, name: str, target: str, slo: Slo | None, how: Watching, store: HabitStore | None = None) -> None:
        self._store = store
        self.name = name
        self.target = target
        self.slo = slo
        self.how = how
        self.window = Window()
        self.facts = ServerFacts()
        self.argv: tuple[str, ...] = ()
        self.timeout_s = Access().timeout_s
        self.witness = Witness()
        self.engines: dict[str, EngineSeen] = {}
        self.scrapes = self.failed = 0
        self.error_text = Text("")
        self.silenced = ""
        self.looking = False  # a job is under way
        self._indexes: dict[int, tuple[Sequence[SeriesKey], Index]] = {}
        self._lost = 0
        self._lost_since = self._lost_for = 0.0
        self._last_tick = self._last_full = float("-inf")
        self._known_failed = 0

    # -- what comes in

    def take(self, t: float, page: Page, keys: Sequence[SeriesKey]) -> None:
        """A page came at ``t`` (unix seconds of the server's clock)."""
        self.window.add(t, page, keys)
        self.scrapes += 1
        self._lost, self.error_text = 0, Text("")
        values = dense(page, len(keys))
        index = self._index(keys)
        for label in index.engines():
            if label not in self.engines:
                self.engines[label] = self._new(label)
            self.engines[label].add(index.read(label, t, values), self.how.window_s)
        self._forget(t)

    def _new(self, label: str) -> EngineSeen:
        """An engine that was not seen before; it takes the place of one that never had a page."""
        unseen = self.engines.pop("", None) if label else None
        engine = EngineSeen(self._engine_id(label), label, self.target, self.slo, self._store)
        if unseen is not None and unseen.course.incident is not None:
            engine.course.incident = unseen.course.incident
        return engine

    def remember(self, table: SeriesTable) -> None:
        """Take pages of before a restart in, so that there is a past to compare with."""
        keys = list(table.keys)
        for place, t in enumerate(table.times.tolist()):
            values = table.values[:, place]
            ids = np.flatnonzero(np.isfinite(values))
            self.take(t, Page(ids, values[ids], table.types), keys)
        self.scrapes = 0

    def fail(self, t: float, name: str, text: str) -> None:
        """A scrape gave no page at ``t``: the error's name, and what it says."""
        self.window.fail(t, name)
        self.failed += 1
        self._lost_since = t if self._lost == 0 else self._lost_since
        self._lost += 1
        self._lost_for = t - self._lost_since
        self.error_text = error_text(name, text)
        if not self.engines:
            self.engines[""] = EngineSeen(self._engine_id(""), "", self.target, self.slo, self._store)
        self._forget(t)

    def resume(self, incident: Incident) -> None:
        """Go on with an incident that was open when the watcher ended."""
        label = incident.engine_id.removeprefix(self.name).removeprefix("~") or incident.engine.id
        engine = self.engines.setdefault(
            label, EngineSeen(incident.engine_id, label, self.target, self.slo, self._store)
        )
        engine.course.incident, engine.course.engine = incident, incident.engine

    def _index(self, keys: Sequence[SeriesKey]) -> Index:
        known = self._indexes.get(id(keys))
        if known is None or known[0] is not keys:
            self._indexes = {id(keys): (keys, Index(keys))}  # the connection before is gone
            known = self._indexes[id(keys)]
        return known[1]

    def _engine_id(self, label: str) -> str:
        return self.name if label in ("", "0") else f"{self.name}~{label}"

    def _forget(self, t: float) -> None:
        before = min((self._start(one, t) for one in self.engines.values()), default=t - self.how.window_s)
        self.window.forget(before)
        self.witness.forget(before)

    def _start(self, engine: EngineSeen, at: float) -> float:
        """From when on an engine's window is looked at."""
        how, incident = self.how, engine.course.incident
        if incident is not None and incident.state == "open":
            return max(incident.since - how.before_s, at - how.longest_s)
        return max(at - how.window_s, engine.course.not_before)

    # -- looking

    def due(self, at: float) -> Job | None:
        """The job for a look at ``at``, None where none is due."""
        # The pauses between attempts grow: where no page comes any more, each attempt is the one that may tell.
        soon = at - self._last_tick < self.how.tick_s and not self._is_lost()
        if self.looking or soon:
            return None
        self._last_tick = at
        why = self._reason(at)
        for engine in self.engines.values():
            engine.forecast = forecast(engine.figures, engine.seats())
            why = why or ("forecast" if engine.forecast else "")
        if not why:
            for engine in self.engines.values():
                engine.learn(self._since_last(engine))
            return None
        return self._job(at, why)

    def _reason(self, at: float) -> str:
        limits = bounds(self.slo)
        if any(engine.course.suspects for engine in self.engines.values()):
            return "open"
        if self.failed > self._known_failed:
            return "failed"
        if self.witness.loud:
            return "log"
        found = (reason(self._since_last(engine), engine.usual(), limits) for engine in self.engines.values())
        return next(filter(None, found), "") or ("calm" if at - self._last_full >= self.how.calm_every_s else "")

    def _since_last(self, engine: EngineSeen) -> list[Figures]:
        """The figures of the last tick, and the one before it."""
        last = engine.figures[-1].t if engine.figures else 0.0
        return [f for f in engine.figures if f.t >= last - self.how.tick_s - self.how.interval_s]

    def _job(self, at: float, why: str) -> Job:
        self.looking, self._last_full, self._known_failed = True, at, self.failed
        self.witness.heard()
        start = min((self._start(engine, at) for engine in self.engines.values()), default=at - self.how.window_s)
        suspects = any(engine.course.suspects for engine in self.engines.values())
        tail_from = at - max(self.how.tail_s, 8 * self.how.interval_s)
        tail = self._recording(tail_from) if suspects and tail_from > start else None
        return Job(self.name, at, self._recording(start), tail, self.slo, why)

    def current(self, engine: EngineSeen) -> Recording:
        """The window of ``engine`` that would be looked at now."""
        return self._recording(self._start(engine, self.window.last or 0.0))

    def _recording(self, start: float) -> Recording:
        page = Recording(
            target=Target(self.target),
            metrics=self.window.table(start),
            server_info=self.facts.server_info,
            version=version_of(self.facts.version),
            models=self.facts.models,
            argv=self.argv,
        )
        return self.witness.beside(page, start)

    def late(self, engine: EngineSeen) -> bool:
        """Whether the engine's tokens still come later than they used to."""
        return still_late(self._since_last(engine), engine.usual())

    def felt(self, engine: EngineSeen) -> bool:
        """Whether they come so late that somebody feels it."""
        return felt_late(self._since_last(engine), engine.usual(), bounds(self.slo))

    def looked(self, looked: Looked) -> None:
        """Keep what a job found; :meth:`courses` then goes on with it."""
        self.looking = False
        for label, seen in looked.full.items():
            engine = self.engines.get(label) or (next(iter(self.engines.values())) if len(self.engines) == 1 else None)
            if engine is not None:
                engine.seen = seen
                engine.course.engine = seen.diagnosis.engine
                engine.cost_s += looked.cost_s / max(len(looked.full), 1)

    @property
    def error(self) -> str:
        """The name of what the last scrape met, and what it says; "" where it gave a page."""
        return self.error_text.en

    def unreachable(self) -> Text | None:
        """Why there is no page, None where one came lately."""
        if not self._is_lost():
            return None
        when = self.window.last is not None
        return (_NO_MORE if when else _NO_PAGE).format(why=self.error_text)

    def lost_since(self) -> float | None:
        """When the first of the scrapes failed that failed in a row; None where the last one gave a page."""
        return self._lost_since if self._is_lost() else None

    def _is_lost(self) -> bool:
        if self._lost >= LOST_SURELY:
            return True
        return self._lost >= LOST_AFTER and self._lost_for >= LOST_S and self._lost >= self._no_chance()

    def _no_chance(self) -> float:
        """How many scrapes in a row fail by chance hardly ever, by the share of them that failed alone or in pairs before."""
        share = self.window.lost_singly(self._lost_since, LOST_AFTER)
        return math.log(LOST_BY_CHANCE) / math.log(share)
