from __future__ import annotations

import pytest

from whystall.model.diagnosis import Remedy, Tried
from whystall.model.text import Text
from whystall.remedies.experience import chance, ordered


def remedy(id: str) -> Remedy:
    return Remedy(id, Text(id))


@pytest.mark.parametrize(
    ("tried", "expected"),
    [(None, 0.5), (Tried(0, 0), 0.5), (Tried(1, 1), 2 / 3), (Tried(0, 1), 1 / 3), (Tried(9, 9), 10 / 11)],
)
def test_the_rule_of_succession(tried, expected):
    assert chance(tried) == pytest.approx(expected)


def test_what_helped_comes_first_and_what_did_not_last():
    found = ordered(map(remedy, "abcd"), {"c": Tried(2, 2, (1, 2)), "a": Tried(0, 1, (3,))})
    assert [one.id for one in found] == ["c", "b", "d", "a"]
    assert found[0].tried == Tried(2, 2, (1, 2))


def test_without_experience_the_order_stays():
    assert [one.id for one in ordered(map(remedy, "abc"), {})] == ["a", "b", "c"]
