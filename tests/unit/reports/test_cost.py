"""Cost in lines, in both languages."""

from __future__ import annotations

import pytest

from whystall.model.cost import Cost, Saving
from whystall.model.prediction import Interval
from whystall.model.text import Text
from whystall.reports.cost import cost_lines, money

SAVING = Saving("a.b", Text("Raise it", "调高"), 2, Interval(0.1, 0.2, 0.3), Interval(0.5, 0.6, 0.7), 4)
COST = Cost(2.5, 2, 5.0, 0.8, 3.75, None, 32, (SAVING,))


def test_cost_waste_gpus_and_savings() -> None:
    assert cost_lines(COST, "en", slo=True) == [
        "now: 0.8 per million tokens, 5.00 an hour (2 GPU at 2.50)",
        "the bottleneck wastes 3.75 of that an hour",
        "GPUs needed for this load at the SLO: more than 32",
        "· Raise it: 0.2 per million tokens, saves 0.6 (0.5 … 0.7); 4 GPU at the SLO",
    ]
    assert cost_lines(COST, "zh", slo=True)[-1] == "· 调高：每百万 token 0.2，节省 0.6（0.5 … 0.7）；SLO 下需 4 个 GPU"


def test_without_an_slo_or_tokens_there_is_less_to_say() -> None:
    idle = Cost(2.5, 2, 5.0, None, None, None, 32)
    assert cost_lines(idle, "en", slo=False) == ["now: 5.00 an hour (2 GPU at 2.50), and no tokens"]
    assert "SLO" not in cost_lines(COST, "en", slo=False)[-1]


@pytest.mark.parametrize(("amount", "shown"), [(1234.5, "1,234.50"), (0.1234, "0.123"), (0.0, "0"), (-2.0, "-2.00")])
def test_money(amount: float, shown: str) -> None:
    assert money(amount) == shown
