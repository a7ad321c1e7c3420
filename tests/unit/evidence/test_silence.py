import msgspec
import numpy as np
import pytest

from states import state_of
from whystall.evidence.silence import gaps, longest_silence, silences

CALM = {"seconds": 30, "running": 8, "rate": 4.0}
AWAY = {"seconds": 20, "away": True}


def test_a_restart_leaves_a_gap() -> None:
    state = state_of(CALM, AWAY, CALM)
    assert gaps(state).sum() == 1
    (found,) = silences(state)
    assert (found.where, found.seconds) == ("gap", pytest.approx(21))


def test_a_server_that_goes_on_while_nobody_sees_it_was_not_away() -> None:
    state = state_of(CALM, {"seconds": 20, "away": "unreachable"}, CALM)
    assert not gaps(state).any()
    assert longest_silence(state) is None


def test_the_end_counts_before_a_longer_gap_and_short_ones_do_not_count() -> None:
    state = state_of(CALM, {"seconds": 40, "away": True}, CALM, {"seconds": 10, "away": True})
    found = longest_silence(state)
    assert found is not None
    assert (found.where, found.seconds) == ("end", pytest.approx(10))
    short = msgspec.structs.replace(state_of(CALM), unanswered_before_s=2.0)
    assert longest_silence(short) is None
    assert [s.where for s in silences(short)] == ["start"]


def test_no_intervals_have_no_gap() -> None:
    empty = msgspec.structs.replace(state_of(CALM), dt=np.zeros(0), valid=np.zeros(0, dtype=bool))
    assert not len(gaps(empty))
