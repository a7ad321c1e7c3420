"""Round trips to other hosts are held against those of before, else against the nearest of them."""

import msgspec
import numpy as np
import pytest

from scenes import scene_of
from whystall.evidence.link import link
from whystall.evidence.scene import Scene
from whystall.model.diagnosis import Evidence
from whystall.model.recording import LinkColumns

ILL = {"seconds": 30, "waiting": 30, "kv": 0.99, "queue_s": 6, "preemptions": 1}


def seen(now: dict[str, float], before: dict[str, float] | None = None, lost: float = 0.0) -> dict[str, Evidence]:
    """Evidence with these round trips (seconds) in the incident and before it; ``lost`` of five probes to the first."""
    state = scene_of({"seconds": 60}, ILL).state
    rows = [(t, peer, rtt) for t in (5.0, 20.0, 35.0) for peer, rtt in (before or {}).items()]
    rows += [(t, peer, rtt) for t in (70.0, 75.0, 80.0) for peer, rtt in now.items()]
    rtts = np.array([rtt for _, _, rtt in rows])
    first = next(iter(now))
    missing = np.array([lost if t >= 70 and peer == first else 0.0 for t, peer, _ in rows])
    times, peers = np.array([state.start + t for t, _, _ in rows]), tuple(peer for _, peer, _ in rows)
    links = LinkColumns(times, peers, rtts, rtts, rtts, np.full(len(rows), 5.0), missing)
    scene = Scene(msgspec.structs.replace(state, links=links))
    assert scene.before.any()
    return {one.id: one for one in link(scene)}


def test_without_probes_nothing_is_said():
    assert list(link(scene_of({"seconds": 60}, ILL))) == []


def test_a_way_that_became_longer_stands_out():
    found = seen({"b:1": 0.040, "c:1": 0.001}, {"b:1": 0.002, "c:1": 0.001})
    assert found["link.rtt"].value == pytest.approx(0.040)
    assert found["link.rtt"].strength > 1
    assert found["link.rtt"].anomaly
    assert "b:1 takes 40 ms, 20.0 times what it took before" in found["link.rtt"].text.en
    assert found["link.lost"].strength < 0


def test_a_way_that_was_long_before_does_not():
    found = seen({"b:1": 0.040}, {"b:1": 0.039})
    assert found["link.rtt"].strength < 0
    assert not found["link.rtt"].anomaly


def test_a_millisecond_more_is_the_probing_hosts_own():
    assert seen({"b:1": 0.004}, {"b:1": 0.001})["link.rtt"].strength < 0


def test_without_a_past_the_nearest_host_says_what_is_usual():
    found = seen({"b:1": 0.040, "c:1": 0.001})
    assert found["link.rtt"].strength > 1
    assert "the nearest other host" in found["link.rtt"].text.en
    assert "link.rtt" not in seen({"b:1": 0.040})


def test_lost_probes_are_counted():
    found = seen({"b:1": float("nan"), "c:1": 0.001}, lost=5.0)
    assert found["link.lost"].value == 1.0
    assert found["link.lost"].anomaly
    assert "100% of the probes to b:1" in found["link.lost"].text.en
