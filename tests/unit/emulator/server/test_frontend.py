"""The API process of the emulated server: what it is busy with delays those behind, and nothing else does."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whystall.emulator.server.frontend import FrontCosts, FrontEnd


def waits(stretch_s: float, tokens_per_s: float, every_s: float, seconds: float = 20.0) -> list[float]:
    """The waits of requests that come evenly, where the emulator looks every ``stretch_s``."""
    front, seen, at = FrontEnd(0.0), list[float](), every_s / 2
    for number in range(round(seconds / stretch_s)):
        until = (number + 1) * stretch_s
        while at < until:
            seen.append(front.take(300, at))
            at += every_s
        front.give(tokens_per_s * stretch_s)
        front.idle(until)
    return seen[len(seen) // 2 :]


@pytest.mark.parametrize("tokens_per_s", [600.0, 3000.0, 8000.0])
def test_a_wait_does_not_depend_on_how_often_somebody_looks(tokens_per_s: float) -> None:
    seldom, often = (waits(stretch, tokens_per_s, 0.05) for stretch in (1.0, 0.01))
    assert sum(seldom) / len(seldom) == pytest.approx(sum(often) / len(often), abs=1e-3)
    assert max(seldom) < 0.01  # a process that is far from full keeps nobody


def test_a_full_process_falls_behind() -> None:
    tokens = 0.9 / FrontCosts().output_token_s
    found = waits(0.1, tokens, 0.01)  # and 0.2 of it for requests
    assert found[-1] > found[0] > 0.5
    assert found[-1] == pytest.approx(20 * (0.9 + 0.23 - 1), rel=0.2)


@given(
    stretches=st.lists(
        st.tuples(st.floats(1e-3, 2.0), st.integers(0, 30), st.floats(0, 30_000)), min_size=1, max_size=30
    )
)
def test_its_work_is_neither_lost_nor_made_up(stretches: list[tuple[float, int, float]]) -> None:
    """CPU time is what was asked of it; a wait is never longer than all the work that came."""
    front, now, asked = FrontEnd(0.0), 0.0, 0.0
    costs = FrontCosts()
    for seconds, requests, tokens in stretches:
        for n in range(requests):
            asked += costs.request_s + costs.prompt_token_s * 100
            assert 0 <= front.take(100, now + seconds * n / requests) <= asked + 1e-9
        front.give(tokens)
        now += seconds
        front.idle(now)
        asked += costs.output_token_s * tokens
    assert front.cpu_s == pytest.approx(asked + costs.idle * now)
