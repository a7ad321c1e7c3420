"""How much later the client has its first tokens, where it is not the only loss and its file is not whole."""

import msgspec
import numpy as np
import pytest

from scenes import scene_of
from whystall.evidence.client_gap import client_gap, sure_gap
from whystall.model.engine_state import ClientState, EngineState, HistogramDelta
from whystall.model.recording import ClientColumns


def seen_by(state: EngineState, came: np.ndarray, ttft_s: np.ndarray) -> EngineState:
    """``state`` with the file of a client whose first tokens ``came`` at these seconds of the window."""
    zero, at = np.zeros(len(came)), state.start + came
    rows = ClientColumns(at, at - ttft_s, zero, zero, zero, ttft_s, zero, zero, zero, zero, (None,) * len(came))
    m = len(state.dt)
    nothing = np.zeros(m)
    return msgspec.structs.replace(state, client=ClientState(rows, nothing, nothing, nothing, nothing, 0.0, 8.0))


def served(ttft_s: np.ndarray, each: np.ndarray) -> EngineState:
    """A state of a server that gave ``each`` first tokens an interval, after ``ttft_s`` on average."""
    state = scene_of({"seconds": 60}).state
    histogram = HistogramDelta(state.ttft.bounds, state.ttft.counts, ttft_s * each, each)
    return msgspec.structs.replace(state, ttft=histogram, running_end=np.full(len(each), 1000.0))


M = len(scene_of({"seconds": 60}).state.dt)


def test_a_few_requests_are_compared_one_by_one() -> None:
    each = np.where(np.arange(M) % 3 == 0, 1.0, 0.0)
    took = np.where(np.arange(M) % 2 == 0, 0.1, 5.0)  # some are set aside for long: a mean over few is chance
    state = served(took, each)
    came, theirs = state.t_end[each > 0] - 0.5, took[each > 0]
    assert np.nanmax(np.abs(client_gap(seen_by(state, came, theirs)))) < 0.01
    gap, sure = sure_gap(seen_by(state, came, theirs + 0.4), np.ones(M, dtype=bool))
    assert gap == pytest.approx(0.4) == sure


def test_what_is_open_is_missing_and_does_not_hide_the_way() -> None:
    """A queue grows and most answers are open at the end: those that ended speak of the network all the same."""
    each, took = np.full(M, 10.0), np.linspace(0.1, 20.0, M)
    state = served(took, each)
    came = np.sort(np.concatenate((state.t_end - 0.3, state.t_end - 0.6)))
    theirs = np.repeat(took, 2)
    assert sure_gap(seen_by(state, came, theirs + 0.5), np.ones(M, dtype=bool))[1] > 0.4
    assert sure_gap(seen_by(state, came, theirs), np.ones(M, dtype=bool))[1] < 0.1


def test_first_tokens_that_differ_widely_are_no_gap() -> None:
    """Two of ten requests of each interval ended, and they happen to have waited longer than the mean."""
    each, took = np.full(M, 10.0), np.full(M, 5.0)
    state = served(took, each)
    came = np.sort(np.concatenate((state.t_end - 0.3, state.t_end - 0.6)))
    theirs = 5.3 + np.tile([-4.0, 4.0], M)
    gap, sure = sure_gap(seen_by(state, came, theirs), np.ones(M, dtype=bool))
    assert gap == pytest.approx(0.3)
    assert sure < 0


def test_a_gap_is_not_seen_long_before_it_begins() -> None:
    each, took = np.where(np.arange(M) % 3 == 0, 1.0, 0.0), np.full(M, 0.1)
    state = served(took, each)
    came = state.t_end[each > 0] - 0.5
    later = np.where(came > came[len(came) // 2], 3.0, 0.0)
    late = client_gap(seen_by(state, came, took[each > 0] + later)) > 0.2
    assert late.any()
    assert state.t_end[np.flatnonzero(late)[0]] > came[len(came) // 2] - 3
