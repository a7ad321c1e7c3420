"""Money of a recorded server: what it costs, wastes and would save, and how many GPUs its load needs."""

from __future__ import annotations

import msgspec
import pytest

import shown
from whystall.errors import UsageError
from whystall.model.diagnosis import Diagnosis
from whystall.model.engine_state import EngineState
from whystall.model.slo import Slo
from whystall.pipeline import diagnose
from whystall.remedies.cost import cost_of, gpus_of, price_of
from whystall.remedies.whatif import predict_remedies
from whystall.state.recorded import states_of

LOOSE, TIGHT = Slo.parse("ttft_p95=60s"), Slo.parse("ttft_p95=300ms,itl_p95=50ms")


@pytest.fixture(scope="module")
def seats() -> tuple[Diagnosis, EngineState]:
    recording = shown.recording("seq_cap")
    diagnosis, state = diagnose(recording).diagnosis, states_of(recording)[0]
    return msgspec.structs.replace(diagnosis, remedies=predict_remedies(diagnosis, state, most=1)), state


def test_seats_that_bind_waste_most_of_the_money(seats: tuple[Diagnosis, EngineState]) -> None:
    diagnosis, state = seats
    found = cost_of(diagnosis, state, diagnosis.remedies, 2.5, TIGHT)
    tokens = diagnosis.impact.tokens_per_s or 0.0
    assert found.per_million_tokens == pytest.approx(2.5 / 3600 / tokens * 1e6)
    (saving,) = found.savings
    assert saving.remedy == diagnosis.remedies[0].id
    ends = saving.saves_per_million_tokens
    assert 0 < ends.low <= ends.mid <= ends.high < found.per_million_tokens
    assert saving.per_million_tokens.mid + ends.mid == pytest.approx(found.per_million_tokens)
    assert found.wasted_per_hour == pytest.approx(2.5 * ends.mid / found.per_million_tokens)
    assert found.gpus_at_slo is not None
    assert saving.gpus_at_slo is not None
    assert 1 <= saving.gpus_at_slo < found.gpus_at_slo


def test_what_is_kept_needs_no_more_and_without_an_slo_nobody_says(seats: tuple[Diagnosis, EngineState]) -> None:
    diagnosis, state = seats
    assert cost_of(diagnosis, state, (), 2.5, LOOSE).gpus_at_slo == 1
    assert cost_of(diagnosis, state, (), 2.5).gpus_at_slo is None
    assert cost_of(diagnosis, state, (), 2.5, Slo.parse("itl_p95=1ms")).gpus_at_slo is None  # more than was tried


def test_an_engine_s_gpus_are_its_ranks_and_an_idle_one_costs_without_tokens(
    seats: tuple[Diagnosis, EngineState],
) -> None:
    diagnosis, state = seats
    wide = msgspec.structs.replace(state.configuration, tensor_parallel=4, pipeline_parallel=2)
    state = msgspec.structs.replace(state, configuration=wide)
    assert gpus_of(state) == 8
    idle = msgspec.structs.replace(diagnosis, impact=msgspec.structs.replace(diagnosis.impact, tokens_per_s=None))
    found = cost_of(idle, state, diagnosis.remedies, 2.0)
    assert (found.per_hour, found.per_million_tokens, found.wasted_per_hour, found.savings) == (16.0, None, None, ())


@pytest.mark.parametrize("text", ["", "free", "-2", "0", "1e9", "nan"])
def test_a_price_is_a_price(text: str) -> None:
    with pytest.raises(UsageError):
        price_of(text)
    assert price_of("2.50") == 2.5
