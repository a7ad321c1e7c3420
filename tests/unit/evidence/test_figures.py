"""The figures of a window against what the recordings' README says was done, and against each other."""

import msgspec
import numpy as np
import pytest

from whystall.evidence.figures import FIGURES, arrivals
from whystall.model.configuration import Configuration
from whystall.sources.files.recording import read_recording
from whystall.state.engine import engine_states

BY_ID = {figure.id: figure for figure in FIGURES}


@pytest.fixture(scope="module")
def states(request):
    folder = request.config.rootpath / "tests" / "data" / "recordings"
    return {
        name: engine_states(read_recording(folder / name), Configuration())[0] for name in ("healthy", "cpu_healthy")
    }


@pytest.mark.parametrize("name", ["healthy", "cpu_healthy"])
@pytest.mark.parametrize("figure", FIGURES, ids=lambda figure: figure.id)
def test_a_figure_is_a_number_and_its_rows_fit_the_intervals(states, figure, name):
    state = states[name]
    assert isinstance(figure.value(state), float)
    if figure.rows is not None:
        assert len(figure.rows(state)) == len(state.t_end)
    assert figure.label.zh != figure.label.en or "p95" in figure.label.en
    assert figure.least > 0


def test_ids_are_unique():
    assert len(BY_ID) == len(FIGURES)


def test_the_healthy_load_is_read_off_as_it_was_made(states):
    # 8 requests a second of 512 + 128 tokens.
    value = {id: figure.value(states["healthy"]) for id, figure in BY_ID.items()}
    assert value["arrival_rate"] == pytest.approx(8, rel=0.15)
    assert value["prompt_tokens"] == pytest.approx(512, rel=0.01)
    assert value["output_tokens"] == pytest.approx(128, rel=0.01)
    assert value["output_rate"] == pytest.approx(8 * 128, rel=0.15)
    assert value["preemption_rate"] == 0.0
    assert value["waiting"] == 0.0


def test_what_was_not_seen_is_not_zero(states):
    blind = msgspec.structs.replace(states["healthy"], gpu=None, host=None, client=None)
    for id in ("gpu_power", "gpu_clock", "engine_cores", "run_delay", "client_ttft"):
        assert np.isnan(BY_ID[id].value(blind))


def test_intervals_that_cannot_be_used_do_not_count(states):
    state = states["healthy"]
    doubled = state.generation_tokens.copy()
    doubled[3] *= 1000
    spoiled = msgspec.structs.replace(
        state, generation_tokens=doubled, valid=state.valid & (np.arange(len(doubled)) != 3)
    )
    assert BY_ID["output_rate"].value(spoiled) == pytest.approx(BY_ID["output_rate"].value(state), rel=0.1)


def test_arrivals_are_finishes_and_the_change_in_flight(states):
    state = states["healthy"]
    made = np.nansum(arrivals(state))
    change = state.running_end[-1] + state.waiting_end[-1] - state.running_start[0] - state.waiting_start[0]
    assert made >= np.nansum(state.finished) + change - 1e-9
