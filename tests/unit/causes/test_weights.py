"""The fitted table laid over the catalogue."""

import math

import msgspec
import pytest

from whystall.causes.catalogue import catalogue
from whystall.causes.weights import Fitted, WeightsTable, fitted, table, weighted_catalogue

ENTRY = catalogue()["kv_capacity"]


def laid(**moved: object) -> WeightsTable:
    return WeightsTable(version=1, temperature=1.0, made={}, causes={"kv_capacity": Fitted(**moved)})


def test_what_the_fit_added_is_added_to_the_hand_weight_of_today() -> None:
    changed = msgspec.structs.replace(ENTRY, bias=-5.0, weights={**ENTRY.weights, "kv.saturated": 3.0})
    found = fitted(changed, laid(bias=(-4.0, -3.5), weights={"kv.saturated": (4.0, 5.0)}))
    assert found.bias == pytest.approx(-4.5)
    assert found.weights["kv.saturated"] == pytest.approx(4.0)


def test_a_sign_that_is_the_mechanisms_never_turns() -> None:
    table = laid(bias=(-4.0, -4.0), weights={"kv.saturated": (4.0, -9.0), "seats.full": (-2.0, 9.0)})
    found = fitted(ENTRY, table)
    assert found.weights["kv.saturated"] == 0
    assert found.weights["seats.full"] == 0


def test_what_the_table_does_not_know_keeps_its_hand_weights() -> None:
    assert fitted(catalogue()["seat_cap"], laid(bias=(-4.0, -1.0))) == catalogue()["seat_cap"]
    later = msgspec.structs.replace(ENTRY, weights={**ENTRY.weights, "kv.later": 1.0})
    assert fitted(later, laid(bias=(-4.0, -4.0))).weights["kv.later"] == 1.0


def test_the_packages_table_is_whole() -> None:
    assert 0.3 <= table().temperature <= 5
    for name, moved in table().causes.items():
        assert name in catalogue()
        for hand, made in [moved.bias, *moved.weights.values()]:
            assert math.isfinite(hand)
            assert math.isfinite(made)
            assert hand * made >= 0, (name, moved)


def test_every_cause_is_weighted_and_none_speaks_without_evidence() -> None:
    assert weighted_catalogue().keys() == catalogue().keys()
    for name, entry in weighted_catalogue().items():
        assert entry.bias <= -1, name
        assert entry.weights.keys() == catalogue()[name].weights.keys()
