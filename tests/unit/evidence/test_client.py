import msgspec
import numpy as np
import pytest

from scenes import evidence_of, scene_of
from whystall.evidence.client import client
from whystall.model.diagnosis import Evidence
from whystall.model.engine_state import ClientState
from whystall.model.recording import ClientColumns


def seen(ttft_s: float = 0.025, refused: float = 0.0, lag_s: float = 0.0, requests: int = 80) -> dict[str, Evidence]:
    scene = scene_of({})
    n, m = requests, len(scene.state.dt)
    zero = np.zeros(n)
    # The rate of the scene's requests, placed by when the first token came.
    came = scene.state.start + np.linspace(0.01, float(scene.state.t_end[-1]) - 0.01, n)
    rows = ClientColumns(came, came - ttft_s, zero, zero, zero, np.full(n, ttft_s), zero, zero, zero, zero, (None,) * n)
    sent = np.full(m, 2.0)
    view = ClientState(rows, sent, sent * refused, sent * refused, sent * 0 + ttft_s, lag_s, 8.0)
    scene.state = msgspec.structs.replace(scene.state, client=view)
    return {evidence.id: evidence for evidence in client(scene)}


def test_refusals_by_their_share() -> None:
    assert seen(refused=0.3)["client.refused"].strength >= 1
    assert seen()["client.refused"].strength < 0
    assert seen(refused=0.3)["client.refused"].value == pytest.approx(0.3)


def test_what_the_network_adds_to_ttft() -> None:
    assert seen(ttft_s=0.9)["client.gap"].strength >= 1
    assert seen(ttft_s=0.9)["client.gap"].value == pytest.approx(0.875, abs=0.01)
    assert seen()["client.gap"].strength < 0


def test_a_generator_that_sends_late_limits_itself() -> None:
    assert seen(lag_s=0.2)["client.send_lag"].strength > 0.5
    assert seen(lag_s=0.0)["client.send_lag"].strength < 0.1


def test_without_a_client_there_is_none() -> None:
    assert list(client(scene_of({}))) == []


def test_a_client_that_saw_a_part_of_the_traffic_is_not_compared() -> None:
    assert "client.gap" not in seen(ttft_s=0.9, requests=20)


def test_long_steps_of_others_make_no_clumps() -> None:
    """Most tokens come every 15 ms, and one in ten after a long prompt's step: the client's median is the server's own."""
    slow = {"slow_tokens": [0.1, 600.0], "seconds": 40}
    even = evidence_of({**slow, "itl_ms": 15, "client": {"gap_s": 0.5, "itl": 1.0}})
    held = evidence_of({**slow, "itl_ms": 15, "client": {"gap_s": 0.5, "itl": 0.1}})
    assert even["client.clumps"].strength < 0.0 < held["client.clumps"].strength


def test_the_way_gets_no_shorter_by_a_queue() -> None:
    """400 ms on the way are felt beside a wait of two seconds that the server's TTFT holds."""
    way = {"gap_s": 0.4, "itl": 1.0}
    queued = evidence_of({"seconds": 40, "waiting": 8, "queue_s": 2.0, "front_s": 0.0, "client": way})
    assert queued["client.gap"].strength >= 0.3
