"""One node's page in a Ray cluster, taken apart: the series of each replica as on vLLM's own page, and the node's."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Protocol

import numpy as np

from whystall.model.recording import Floats, SeriesKey, SeriesTable
from whystall.sources.exposition import Page
from whystall.sources.ray.replicas import SILENT_REPORT_S, engine_key, is_node_row

from .scraping import Listener, Taker
from .window import Window


class Replica:
    """One replica on one page. ``seen`` is when its series last stood there, ``reached`` whether the page answers."""

    def __init__(self, id: str, page: str) -> None:
        self.id = id
        self.page = page
        self.name = ""
        self.found = False
        self.met: int | None = None  # in which round of discovery
        self.seen = math.inf
        self.reached = True
        self.keys: list[SeriesKey] = []
        self._place: dict[SeriesKey, int] = {}
        self._values: Floats = np.zeros(0)
        self._taken: float | None = None  # when something new stood there last

    def place(self, key: SeriesKey) -> int:
        """Where a series stands in ``keys``."""
        at = self._place.setdefault(key, len(self.keys))
        if at == len(self.keys):
            self.keys.append(key)
        return at

    def is_new(self, t: float, values: Floats) -> bool:
        """Whether a report came since the page before; or none for so long that nothing happens there.

        Between two reports the page repeats itself, which read as rates would be a standstill and then a jump; how old
        the first page is nobody knows.
        """
        first, same = self._taken is None, np.array_equal(self._values, values, equal_nan=True)
        self._values = values
        if first or not same or t - (self._taken or 0.0) >= SILENT_REPORT_S:
            self._taken = t
            return not first
        return False


class Meeting(Protocol):
    """Who knows which replicas are watched."""

    def meet(self, replica: Replica) -> Taker | None: ...


class NodePage(Listener):
    """Takes the pages of one node. ``answered`` is whether it gave one, ``asked`` whether it did or failed to."""

    def __init__(self, address: str, meeting: Meeting) -> None:
        self.address = address
        self.asked = self.answered = False
        self._meeting = meeting
        self._replicas: dict[str, Replica] = {}
        self._rows: dict[int, tuple[Replica, int] | None] = {}  # by the page's id
        self._node: set[int] = set()
        self._keys: Sequence[SeriesKey] = ()
        self._window = Window()

    def page(self, name: str, t: float, page: Page, keys: Sequence[SeriesKey]) -> None:
        """Hand each replica's part on where it is new."""
        self.asked = self.answered = True
        if keys is not self._keys:  # another connection counts anew
            self._keys, self._rows, self._node = keys, {}, set()
        found: dict[str, dict[int, float]] = {}
        for ident, value in zip(page.ids.tolist(), page.values.tolist(), strict=True):
            row = self._rows[ident] if ident in self._rows else self._row(ident)
            if row is not None:
                found.setdefault(row[0].id, {})[row[1]] = value
        node = np.isin(page.ids, list(self._node))
        self._window.add(t, Page(page.ids[node], page.values[node], page.types), keys)
        for id, values in found.items():
            self._hand_on(self._replicas[id], t, values, page.types)

    def _row(self, ident: int) -> tuple[Replica, int] | None:
        key = self._keys[ident]
        found = engine_key(key)
        if found is None:
            if is_node_row(key):
                self._node.add(ident)
            self._rows[ident] = None
            return None
        id, plain = found
        replica = self._replicas.setdefault(id, Replica(id, self.address))
        self._rows[ident] = replica, replica.place(plain)
        return self._rows[ident]

    def _hand_on(self, replica: Replica, t: float, values: dict[int, float], types: dict[str, str]) -> None:
        replica.seen, replica.reached = t, True
        taker = self._meeting.meet(replica)
        dense = np.full(len(replica.keys), np.nan)
        dense[list(values)] = list(values.values())
        if taker is not None and replica.is_new(t, dense):
            ids = np.array(sorted(values), dtype=np.int64)
            taker.page(replica.name, t, Page(ids, dense[ids], types), replica.keys)

    def failed(self, name: str, t: float, error: str, text: str) -> None:
        """The page is away, and with it all replicas that stood on it."""
        self.asked = True
        for replica in self._replicas.values():
            replica.reached = False
            taker = self._meeting.meet(replica)
            if taker is not None:
                taker.failed(replica.name, t, error, text)

    def node_rows(self) -> SeriesTable:
        """The node's own series since the last time; the last page stays, so that the next has one to compare with."""
        table = self._window.table()
        if self._window.last is not None:
            self._window.forget(self._window.last)
        return table
