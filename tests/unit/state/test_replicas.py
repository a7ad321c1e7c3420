"""Engines of other pages on the intervals of this one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from states import state_of
from whystall.state.replicas import MOST, replica_of, with_replicas

PHASE = {"seconds": 20, "running": 4, "rate": 2.0}


def named(model: str = "m", **phase: float):
    state = state_of({**PHASE, **phase})
    return replace(state, engine=replace(state.engine, model=model))


def test_what_another_did_is_put_on_these_intervals() -> None:
    own, other = named(rate=6.0), named(running=8)
    moved = replace(replica_of(other, "b 0"), t=replica_of(other, "b 0").t + 0.4)  # scraped a little later
    (peer,) = with_replicas(own, [moved]).peers
    assert peer.id == "b 0"
    np.testing.assert_allclose(peer.running, 8.0)
    assert len(peer.tokens) == len(own.dt)
    assert np.nansum(peer.tokens) == pytest.approx(np.nansum(other.generation_tokens), rel=0.1)
    assert np.isnan(peer.steps).all()
    assert peer.ttft_count.sum() == 0


def test_another_model_another_time_and_nothing_are_no_replica() -> None:
    own, other = named(rate=6.0), replica_of(named(), "b")
    assert with_replicas(own, [replace(other, model="x"), replace(other, t=other.t + 60)]) is own
    assert with_replicas(named(model=""), [replace(other, model="")]).peers == ()
    assert with_replicas(own, [replace(other, t=other.t[:1])]) is own
    assert len(with_replicas(own, [other] * (MOST + 5)).peers) == MOST


def test_one_that_gets_no_more_than_the_others_has_a_trouble_of_its_own() -> None:
    own = named(waiting=30)  # slower, or fewer seats: the requests come evenly
    assert with_replicas(own, [replica_of(named(), "b"), replica_of(named(), "c")]) is own
    assert len(with_replicas(named(rate=6.0), [replica_of(named(), "b")]).peers) == 1


@given(st.floats(-30, 30), st.lists(st.booleans(), min_size=21, max_size=21))
def test_no_token_is_made_and_what_was_not_seen_is_not_zero(shift: float, seen: list[bool]) -> None:
    own = named(rate=6.0)
    other = replica_of(named(), "b")
    holes = np.where(seen, other.running, np.nan)
    peers = with_replicas(own, [replace(other, t=other.t + shift, running=holes)]).peers
    for peer in peers:
        assert np.nansum(peer.tokens) <= other.tokens[-1] + 1e-6
        assert (peer.running[np.isfinite(peer.running)] == 4).all()
        assert np.isnan(peer.tokens).tolist() == np.isnan(peer.waiting).tolist()
