from __future__ import annotations

import msgspec
import pytest

from scenes import evidence_of, scene_of
from whystall.evidence.trace import NUMBERS, contradiction, trace
from whystall.profiles.figures import TraceFigures


def seen(figures: TraceFigures | None) -> dict[str, float]:
    scene = scene_of({})
    scene.trace = figures
    return {evidence.id: evidence.strength for evidence in trace(scene)}


def test_without_a_trace_nothing_is_said() -> None:
    assert seen(None) == {}
    assert seen(TraceFigures()) == {}


@pytest.mark.parametrize("number", NUMBERS, ids=lambda number: number.id)
def test_a_figure_speaks_from_its_first_level_to_its_full_one(number) -> None:
    assert number.figure in {field.name for field in msgspec.structs.fields(TraceFigures)}
    at_zero, at_full = (TraceFigures(**{number.figure: value}) for value in (number.zero, number.full))
    assert seen(at_zero) == {number.id: pytest.approx(0.0)}
    assert seen(at_full) == {number.id: pytest.approx(1.0)}


def test_a_trace_of_another_load_is_told_from_the_pages() -> None:
    idle = evidence_of({"gpu": {"util": 0.15}, "itl_ms": 11})
    assert contradiction(TraceFigures(busy_ratio=0.2), idle) is None
    found = contradiction(TraceFigures(busy_ratio=0.95), idle)
    assert found is not None
    assert "95%" in found.en
    assert "95%" in found.zh
    assert contradiction(None, idle) is None
