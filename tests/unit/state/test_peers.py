import msgspec

from cases.window import recording_of
from states import state_of
from whystall.pipeline import states_of
from whystall.state.peers import peer_of, with_peers

PHASE = {"seconds": 8, "running": 4, "rate": 2.0}


def test_every_engine_has_all_the_others() -> None:
    states = states_of(recording_of({"phases": [{**PHASE, "peers": [PHASE, PHASE]}]}))
    assert [[peer.id for peer in state.peers] for state in states] == [["1", "2"], ["0", "2"], ["0", "1"]]
    assert (states[0].peers[0].running == 4).all()


def test_a_lone_engine_has_none() -> None:
    state = state_of(PHASE)
    assert state.peers == ()
    assert with_peers([state]) == [state]
    assert peer_of(state).id == "0"


def test_an_engine_of_another_model_is_no_replica_and_yet_runs_beside() -> None:
    first, second = states_of(recording_of({"phases": [{**PHASE, "peers": [PHASE]}]}))
    other = msgspec.structs.replace(second, engine=msgspec.structs.replace(second.engine, model="another"))
    found = with_peers([first, other])
    assert [state.peers for state in found] == [(), ()]
    assert all((state.running_beside == 4).all() for state in found)
