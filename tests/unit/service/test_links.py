"""Round trips between daemons: what comes back, what is lost, and what is this daemon's own fault."""

from __future__ import annotations

import asyncio
import math
from pathlib import Path

import numpy as np
import pytest
from aiohttp import web
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from servers import http_server
from whystall.cli.settings import load_settings
from whystall.errors import UsageError
from whystall.service.keeper import Keeper
from whystall.service.ledger import Ledger
from whystall.service.links import KEPT_S, MOST_PEERS, PROBES, STORED_AS, KeptRounds, Links, Probing, Round
from whystall.service.links_view import links_view
from whystall.service.log import Log
from whystall.service.own_metrics import page
from whystall.service.pulse import Pulse
from whystall.service.server import Watching
from whystall.service.target import WatchTarget
from whystall.service.watcher import Watcher
from whystall.service.witness import Witness
from whystall.service.workers import Workers
from whystall.sources.archive.store import Archive
from whystall.sources.live.address import Address


class Peer:
    """A daemon's healthz; the answers whose numbers are in ``lost`` never come."""

    def __init__(self, lost: set[int] = frozenset(), status: int = 200) -> None:  # type: ignore[assignment]
        self.asked = 0
        self.paths: set[str] = set()
        self.lost, self.status = lost, status

    async def handler(self, request: web.Request) -> web.Response:
        self.paths.add(request.path)
        self.asked += 1
        if self.asked in self.lost:
            await asyncio.Event().wait()
        return web.json_response({"ok": True}, status=self.status)


async def probed(peer: Peer, pulse: Pulse | None = None) -> tuple[Round | None, Links]:
    async with http_server(peer.handler) as url:
        links = Links()
        probing = Probing([url], links, pulse or Pulse(), timeout_s=0.3)
        return await probing.once(Address.parse(url)), links


async def test_a_round_is_five_probes_on_an_open_connection():
    peer = Peer()
    one, links = await probed(peer)
    assert one is not None
    assert (peer.asked, one.sent, one.lost, peer.paths) == (PROBES + 1, PROBES, 0, {"/healthz"})
    least, median, most = one.figures()
    assert 0 < least <= median <= most
    assert links.latest() == {one.peer: one}


async def test_what_does_not_come_back_is_lost():
    one, _ = await probed(Peer(lost={3, 5}))
    assert one is not None
    assert one.lost == 2
    gone, _ = await probed(Peer(status=404))  # something else listens there
    assert gone is not None
    assert gone.lost == PROBES
    assert all(math.isnan(value) for value in gone.figures())


async def test_a_daemon_that_is_late_itself_measures_nothing():
    pulse = Pulse()
    pulse.late_s = lambda seconds: 0.6  # type: ignore[method-assign]
    one, links = await probed(Peer(), pulse)
    assert one is None
    assert links.latest() == {}


def rounds(*peers: str, n: int = 3) -> Links:
    links = Links()
    for k in range(n):
        for peer in peers:
            links.add(Round(1000.0 + 15 * k, peer, (0.001, 0.002), 2))
    return links


def test_columns_are_those_of_the_window_and_of_the_host():
    links = rounds("a:1", "[::1]:2")
    found = links.columns(1010.0)
    assert found is not None
    assert found.t.tolist() == [1015.0, 1015.0, 1030.0, 1030.0]
    assert found.peer == ("a:1", "[::1]:2") * 2
    np.testing.assert_allclose(found.rtt_median_s, 0.0015)
    only = links.columns(0.0, "a")
    assert only is not None
    assert set(only.peer) == {"a:1"}
    assert links.columns(0.0, "c") is None
    links.add(Round(1030.0 + KEPT_S + 1, "a:1", (), 5))
    assert len(links.columns(0.0).t) == 1  # type: ignore[union-attr]


def test_a_recording_gets_the_ways_to_its_servers_host():
    witness = Witness()
    witness.links, witness.host = rounds("a:1", "b:1"), "b"
    from whystall.model.recording import Recording, SeriesTable
    from whystall.model.target import Target

    plain = Recording(Target("http://b:8000"), SeriesTable.empty())
    assert set(witness.beside(plain, 0.0).links.peer) == {"b:1"}  # type: ignore[union-attr]
    witness.host = ""  # the server is on this host
    assert set(witness.beside(plain, 0.0).links.peer) == {"a:1", "b:1"}  # type: ignore[union-attr]
    witness.host = "c"
    assert witness.beside(plain, 0.0).links is None


def test_what_is_wrong_with_a_way_is_told_by_the_levels_of_the_evidence_and_stands_first():
    links = Links()
    for k in range(10):
        rtt = 0.010 if k == 9 else 0.001
        links.add(Round(1000.0 + 15 * k, "fine:1", (0.001,) * 5, 5))
        links.add(Round(1000.0 + 15 * k, "slow:1", (rtt,) * 5, 5))
        links.add(Round(1000.0 + 15 * k, "twice:1", (rtt / 5,) * 5, 5))  # over twice, and a millisecond or two
        links.add(Round(1000.0 + 15 * k, "lossy:1", (0.001,) * (4 if k == 3 else 5), 5))
        links.add(Round(1000.0 + 15 * k, "gone:1", () if k == 9 else (0.001,) * 5, 5))
    shown = links_view(links)
    assert [(one.peer, one.condition) for one in shown] == [
        ("gone:1", "away"), ("lossy:1", "lost"), ("slow:1", "slower"), ("fine:1", "ok"), ("twice:1", "ok"),
    ]  # fmt: skip
    gone, slow = shown[0], shown[2]
    assert (gone.median_s, gone.lost_ratio, gone.usual_s, gone.rtts_s[-2:]) == (None, 0.1, 0.001, (0.001, None))
    assert (slow.median_s, slow.usual_s, slow.at, len(slow.t)) == (0.01, 0.001, 1135.0, 10)
    assert [one.peer for one in links_view(links, "slow")] == ["slow:1"]
    assert links_view(Links()) == ()


def test_the_first_round_has_nothing_to_be_slower_than():
    links = Links()
    links.add(Round(1000.0, "a:1", (0.5,), 1))
    (one,) = links_view(links)
    assert (one.condition, one.usual_s) == ("ok", None)


async def test_rounds_are_kept_and_exported(tmp_path: Path):
    peer = Peer()
    watcher = Watcher(Watching(), Ledger(), Workers(0), Log(write=lambda _: None))
    watcher.found("a", WatchTarget("a", "http://a:8000"))
    kept = asyncio.Event()
    keeper = Keeper(Archive.open(tmp_path / "w.sqlite"), Log(write=lambda _: None), now=lambda: 1000.0)
    add = keeper.add
    keeper.add = lambda *what: (add(*what), kept.set())  # type: ignore[method-assign, assignment]
    async with http_server(peer.handler) as url:
        probing = Probing([url], watcher.links, watcher.lookout.pulse, KeptRounds(keeper).take, now=lambda: 1000.0)
        task = asyncio.create_task(probing.run())
        await asyncio.wait_for(kept.wait(), 20)
        task.cancel()
    table = keeper.recent(STORED_AS, 1001.0, 100.0)
    keeper.close()
    name = f"127.0.0.1:{url.rpartition(':')[2]}"
    assert {(key.name, key.label("peer"), key.label("stat")) for key in table.keys} == {
        ("whystall_link_loss_ratio", name, ""),
        *(("whystall_link_rtt_seconds", name, stat) for stat in ("min", "median", "max")),
    }
    families = {family.name: family for family in text_string_to_metric_families(page(watcher))}
    assert len(families["whystall_link_rtt_seconds"].samples) == 3
    assert families["whystall_link_loss_ratio"].samples[0].value == 0


@pytest.mark.parametrize("peers", ['["nothing here"]', str([f"http://n{n}:9400" for n in range(MOST_PEERS + 1)])])
def test_peers_that_cannot_be_are_refused(tmp_path: Path, peers: str):
    path = tmp_path / "whystall.toml"
    path.write_text(f"[watch]\npeers = {peers}\n")
    with pytest.raises(UsageError, match=r"watch\.peers"):
        load_settings(path)
