import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from states import blank, histogram
from whystall.evidence.first_tokens import late_counts, late_first_tokens
from whystall.evidence.symptoms import symptoms
from whystall.model.engine_state import EngineState
from whystall.model.slo import Slo

BOUNDS = [0.05, 0.1, 0.25, 0.5, 1.0, 2.5]
FAST, FELT, LATE = [0.08] * 4, [0.2] * 4, [0.8] * 4


def state(*phases: tuple[int, list[float]]) -> EngineState:
    """Seconds in each of which first tokens came after these times."""
    rows = [ttft_s for seconds, ttft_s in phases for _ in range(seconds)]
    return blank([1.0] * len(rows), ttft=histogram(BOUNDS, rows))


def test_first_tokens_that_became_late() -> None:
    late = late_first_tokens(state((30, FAST), (20, LATE)))
    assert late[30:].all()
    assert not late[:29].any()


def test_late_from_the_start_is_how_long_the_prompts_take() -> None:
    assert not late_first_tokens(state((60, LATE))).any()


def test_twice_as_late_is_no_loss_while_nobody_feels_it() -> None:
    assert not late_first_tokens(state((30, [0.02] * 4), (30, FAST))).any()
    assert not late_first_tokens(state((30, FAST), (30, [0.08, 0.08, 0.08, 0.2]))).any()


def test_two_late_seconds_are_a_long_prompt() -> None:
    assert not late_first_tokens(state((30, FAST), (2, LATE), (30, FAST))).any()


def test_what_ended_is_a_stretch_of_its_own() -> None:
    late = late_first_tokens(state((30, FAST), (15, LATE), (40, FAST)))
    assert late[31:44].all()
    assert not late[60:].any()


def waves(seed: int, seconds: int, share: float) -> list[tuple[int, list[float]]]:
    """Five requests at once every second; of the ten that come in two seconds all are late or none is."""
    rng = np.random.default_rng(seed)
    return [(2, ([0.8] if rng.random() < share else [0.08]) * 5) for _ in range(seconds // 2)]


def test_requests_that_are_late_together_are_one_chance() -> None:
    calm = [late_first_tokens(state(*waves(seed, 300, 0.1))) for seed in range(30)]
    assert sum(flags[60:].any() for flags in calm) <= 3  # 17 where each request counts by itself
    assert all(late_first_tokens(state(*waves(seed, 200, 0.1), (60, LATE)))[210:250].all() for seed in range(5))


def test_who_is_always_late_is_no_loss_of_today() -> None:
    some, more = [0.08] * 3 + [0.8], [0.08] * 6 + [0.8] * 4  # a quarter, and two fifths
    assert not late_first_tokens(state((60, some), (120, more))).any()
    assert late_first_tokens(state((60, some), (60, [0.08] + [0.8] * 9))).any()


def test_too_few_before_to_know_what_is_usual() -> None:
    assert not late_first_tokens(state((1, FAST), (30, LATE))).any()


def test_a_page_without_the_histogram() -> None:
    assert not late_first_tokens(blank([1.0] * 5)).any()


def test_nobody_is_late_who_keeps_the_promise() -> None:
    grown = state((30, FAST), (20, LATE))
    assert symptoms(grown)["ttft"].any()
    assert not symptoms(grown, Slo(ttft_p95_s=2.0))["ttft"].any()


@pytest.mark.parametrize(("bound", "late"), [(0.1, 4.0), (0.175, 2.0), (0.25, 0.0), (9.0, 0.0)])
def test_the_bucket_that_holds_the_bound_counts_in_part(bound: float, late: float) -> None:
    assert late_counts(state((1, FELT)), bound) == pytest.approx([late])


@given(st.lists(st.lists(st.floats(0.001, 9), max_size=20), min_size=1, max_size=60), st.floats(0.01, 5))
def test_no_more_are_late_than_came(rows: list[list[float]], bound: float) -> None:
    seen = blank([1.0] * len(rows), ttft=histogram(BOUNDS, rows))
    assert (late_counts(seen, bound) <= np.array([len(row) for row in rows]) + 1e-9).all()
    assert (late_counts(seen, bound) >= late_counts(seen, bound * 2)).all()
    assert len(late_first_tokens(seen)) == len(rows)
