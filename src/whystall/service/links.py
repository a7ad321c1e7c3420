"""Round trips between the daemons that name each other: how the network between their hosts goes."""

from __future__ import annotations

import asyncio
import math
import random
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from whystall.errors import WhystallError
from whystall.model.recording import LinkColumns, SeriesKey
from whystall.sources.exposition import Page
from whystall.sources.links import LinkRow, link_columns
from whystall.sources.live.access import Access
from whystall.sources.live.address import Address
from whystall.sources.live.http import Session

from .keeper import Keeper
from .pulse import Pulse

MOST_PEERS = 32
EVERY_S = 15.0  # a round: at most 32 peers with 5 small requests each, some ten requests a second
PROBES = 5  # of a round; their median is no single packet's bad luck
TIMEOUT_S = 2.0  # a lost packet comes again after 0.2 s, then 0.4 and 0.8: what takes longer got nothing through
KEPT_S = 1_000.0  # a little more than the longest window that is looked at
STORED_AS = "~links"  # in the store, beside the targets


class Round(NamedTuple):
    """One round of probes to ``peer``: the round trips that came back (seconds), and how many of ``sent`` did not."""

    t: float
    peer: str
    rtts: tuple[float, ...]
    sent: int

    @property
    def lost(self) -> int:
        return self.sent - len(self.rtts)

    def row(self) -> LinkRow:
        """As a recording keeps it."""
        low, median, high = (value if math.isfinite(value) else None for value in self.figures())
        return LinkRow(round(self.t, 3), self.peer, low, median, high, self.sent, self.lost)

    def figures(self) -> tuple[float, float, float]:
        """Shortest, median and longest; NaN where none came back."""
        return (min(self.rtts), float(np.median(self.rtts)), max(self.rtts)) if self.rtts else (np.nan,) * 3


class Links:
    """The last minutes of rounds."""

    def __init__(self) -> None:
        self._rounds: deque[Round] = deque(maxlen=MOST_PEERS * 100)

    def add(self, one: Round) -> None:
        self._rounds.append(one)
        while self._rounds[0].t < one.t - KEPT_S:
            self._rounds.popleft()

    def latest(self) -> dict[str, Round]:
        """The newest round of each peer."""
        return {one.peer: one for one in self._rounds}

    def rounds(self, host: str = "") -> dict[str, list[Round]]:
        """Each peer's rounds, oldest first; of peers on ``host`` alone where one is given."""
        found: dict[str, list[Round]] = {}
        for one in self._rounds:
            if not host or _host(one.peer) == host:
                found.setdefault(one.peer, []).append(one)
        return found

    def columns(self, start: float, host: str = "") -> LinkColumns | None:
        """The rounds from ``start`` on (unix seconds), to peers on ``host`` alone where one is given; None for none."""
        return link_columns(
            [one.row() for one in self._rounds if one.t >= start and (not host or _host(one.peer) == host)]
        )


def _host(peer: str) -> str:
    return peer.rpartition(":")[0].strip("[]")


class Probing:
    """Probes the ``/healthz`` of other daemons, without a token: it asks for none. ``run`` ends when it is cancelled."""

    def __init__(
        self,
        peers: Iterable[str],
        links: Links,
        pulse: Pulse,
        take: Callable[[Sequence[Round]], None] = lambda _rounds: None,
        now: Callable[[], float] = time.time,
        every_s: float = EVERY_S,
        timeout_s: float = TIMEOUT_S,
    ) -> None:
        """``take`` gets the rounds of each time around, one a peer that could be judged."""
        self._peers = [Address.parse(peer) for peer in list(peers)[:MOST_PEERS]]
        self._links = links
        self._pulse = pulse
        self._take = take
        self._now = now
        self._every_s = every_s
        self._timeout_s = timeout_s

    async def run(self) -> None:
        """Probe until cancelled, one peer after the other so that none is in the way of another."""
        while self._peers:
            rounds = [one for peer in self._peers if (one := await self.once(peer)) is not None]
            self._take(rounds)
            await asyncio.sleep(self._every_s * random.uniform(0.9, 1.1))

    async def once(self, peer: Address) -> Round | None:
        """One round to ``peer``; None where this daemon was late itself, since that would be its own time."""
        rtts: list[float] = []
        begun = time.monotonic()
        async with Session(peer, Access(timeout_s=self._timeout_s)) as session:
            first = await _rtt(session)  # it opens the connection, and is not counted
            if first is not None:
                found = [await _rtt(session) for _ in range(PROBES)]
                rtts = [rtt for rtt in found if rtt is not None]
        if self._pulse.late_s(time.monotonic() - begun) > 0:
            return None
        one = Round(self._now(), f"{peer.host}:{peer.port}", tuple(rtts), PROBES)
        self._links.add(one)
        return one


class KeptRounds:
    """Rounds into the store, beside the targets."""

    def __init__(self, keeper: Keeper | None) -> None:
        self._keeper = keeper
        self._keys: list[SeriesKey] = []
        self._place: dict[SeriesKey, int] = {}

    def take(self, rounds: Sequence[Round]) -> None:
        """Keep what came back; nothing where there is no store."""
        if self._keeper is None or not rounds:
            return
        samples = [(self._id(key), value) for one in rounds for key, value in series(one) if np.isfinite(value)]
        ids = np.array([ident for ident, _ in samples], dtype=np.int64)
        page = Page(ids, np.array([value for _, value in samples]), {})
        self._keeper.add(STORED_AS, rounds[-1].t, page, self._keys)

    def _id(self, key: SeriesKey) -> int:
        at = self._place.setdefault(key, len(self._keys))
        if at == len(self._keys):
            self._keys.append(key)
        return at


def series(one: Round) -> Iterator[tuple[SeriesKey, float]]:
    """A round as the series that are kept and exported."""
    for stat, value in zip(("min", "median", "max"), one.figures(), strict=True):
        yield SeriesKey("whystall_link_rtt_seconds", (("peer", one.peer), ("stat", stat))), value
    yield SeriesKey("whystall_link_loss_ratio", (("peer", one.peer),)), one.lost / one.sent


async def _rtt(session: Session) -> float | None:
    """One round trip (seconds), None where nothing came back in time or no daemon answered."""
    begun = time.monotonic()
    try:
        answer = await session.get("/healthz", 4096)
    except WhystallError:
        return None
    return answer.received - begun if answer.status == 200 else None
