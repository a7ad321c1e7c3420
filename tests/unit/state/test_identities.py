"""The laws hold where the window keeps them, break where it does not, and are silent where it is too short."""

import msgspec
import numpy as np
import pytest

from cases.window import recording_of
from whystall.model.configuration import Configuration
from whystall.model.diagnosis import Identity
from whystall.model.engine_state import ClientState, EngineState
from whystall.model.recording import ClientColumns
from whystall.state.engine import engine_states
from whystall.state.identities import identities

# 2 requests a second that run 1 s each: 2 run at any time (Little's law).
STEADY = {"seconds": 60, "running": 2, "waiting": 1, "rate": 2.0, "prompt": 100, "output": 98, "itl_ms": 10}
STEADY |= {"prefill_s": 0.02, "queue_s": 0.5, "front_s": 0.0}


def state_of(**changed: object) -> EngineState:
    return engine_states(recording_of({"phases": [{**STEADY, **changed}]}), Configuration())[0]


def found(state: EngineState) -> dict[str, Identity]:
    return {identity.id: identity for identity in identities(state)}


def with_client(state: EngineState, requests: int, tokens: float) -> EngineState:
    column = np.zeros(requests)
    rows = ClientColumns(*(column,) * 3, np.full(requests, tokens), *(column,) * 6, error=(None,) * requests)
    sent = np.full(len(state.dt), requests / len(state.dt))
    return msgspec.structs.replace(state, client=ClientState(rows, sent, 0 * sent, 0 * sent, sent, 0.0, 1.0))


def test_littles_law_of_running_and_waiting() -> None:
    laws = found(state_of())
    assert laws["I1"].value == pytest.approx(1.0)
    assert laws["I2"].value == pytest.approx(1.0)
    assert laws["I1"].holds
    assert laws["I2"].holds


@pytest.mark.parametrize("law", ["I1", "I2"])
def test_gauges_that_do_not_belong_to_the_histograms_break_it(law: str) -> None:
    laws = found(state_of(running=4, waiting=3))
    assert laws[law].value is not None
    assert laws[law].value < 0.6
    assert laws[law].holds is False


def test_too_short_a_window_tests_nothing() -> None:
    laws = found(state_of(seconds=10))
    assert laws["I1"].value == pytest.approx(1.0)
    assert laws["I1"].holds is None


def test_the_parts_of_a_latency_sum_to_it() -> None:
    assert found(state_of())["I11"].value == pytest.approx(1.0)
    front = found(state_of(front_s=0.5))["I11"]
    assert front.value == pytest.approx(1.5 / 2.0)
    assert front.holds  # the rest is the front end


def test_hits_are_what_was_not_computed() -> None:
    assert found(state_of(cached=0.4))["I14"].value == pytest.approx(1.0)
    assert found(state_of())["I14"].value is None  # nothing was saved


def test_the_client_got_what_the_engine_made() -> None:
    state = state_of()
    made = float(state.generation_tokens.sum())
    right = found(with_client(state, 120, made / 120))
    assert right["I3"].value == pytest.approx(1.0)
    assert right["I3"].holds
    assert found(with_client(state, 120, made / 240))["I3"].holds is False
    assert found(state)["I3"].holds is None


def test_what_came_left_or_is_inside() -> None:
    state = state_of()
    assert found(with_client(state, 120, 1))["I4"].value == pytest.approx(0.0)
    assert found(with_client(state, 120, 1))["I4"].holds
    assert found(with_client(state, 100, 1))["I4"].holds is None  # the client's file may lack open requests
