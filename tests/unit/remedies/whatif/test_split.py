"""Steps launched one by one, replayed as graphs: whose part is what."""

from whystall.emulator.engine.profile import StepProfile
from whystall.emulator.profiles import load_profile
from whystall.model.configuration import Configuration
from whystall.model.prediction import ProfileUsed
from whystall.model.text import Text
from whystall.remedies.whatif.load import LoadDraw
from whystall.remedies.whatif.machine import SHIPPED_ERROR, Machine, known_profile
from whystall.remedies.whatif.split import with_graphs
from whystall.remedies.whatif.variant import Draw

EAGER = StepProfile(name="window", floor_s=0.025, token_s=3e-5, front_s=0.022)


def draw(number=0, cause="launch_bound"):
    return Draw(number, EAGER, LoadDraw(0.0, (), 1), cause)


def test_the_engine_s_wait_for_launches_is_no_front_end_once_there_are_graphs():
    known = load_profile("h200-8b")
    after = with_graphs(EAGER, draw(), known, True, 512)
    assert after.floor_s == known.floor_s
    assert after.host_mixed_s == known.host_mixed_s
    assert after.front_s == known.front_s
    assert after.host_eager_s == EAGER.floor_s
    alone = with_graphs(EAGER, draw(), None, True, 512)
    assert 0 < alone.front_s < EAGER.front_s


def test_what_is_known_of_such_machines_is_off_by_as_much_as_another_server():
    known = load_profile("h200-8b")
    machine = Machine(EAGER, ProfileUsed("window", "fitted", 0.01, Text("")), None, known)
    floors = [machine.like(number).floor_s for number in range(200)]
    assert floors[3] == machine.like(3).floor_s
    inside = sum(abs(floor / known.floor_s - 1) < SHIPPED_ERROR for floor in floors)
    assert 100 < inside < 170  # two thirds within one deviation
    assert Machine(EAGER, machine.used).like(1) is None


def test_an_eager_server_s_gpu_is_known_from_the_same_machine_with_graphs():
    eager = Configuration(gpu_name="NVIDIA H200", model="meta-llama/Llama-3.1-8B", enforce_eager=True)
    assert known_profile(eager).name == load_profile("h200-8b").name
