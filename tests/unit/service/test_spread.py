"""Replicas of one target against each other."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

import shown
from whystall.model.fleet import FleetEngine, Spark
from whystall.model.text import Text
from whystall.service.spread import with_spread

ONE = shown.engine("x", "healthy")


def engine(name: str, itl_ms: float | None, held: float = 4.0, model: str = "m") -> FleetEngine:
    itl = None if itl_ms is None else itl_ms / 1000
    spark = Spark(t=(0.0,) * 20, running=(held,) * 20, waiting=(0.0,) * 20, itl_s=(0.9,) * 8 + (itl,) * 12)
    return replace(ONE, id=name, name=name, engine=replace(ONE.engine, model=model), spark=spark)


def said(*engines: FleetEngine) -> dict[str, str]:
    return {one.id: one.beside.en for one in with_spread(engines) if one.beside.en}


def test_one_slow_node_stands_out_by_its_own_minute():
    found = said(engine("k8s~a", 12), engine("k8s~b", 30), engine("k8s~c", 13), engine("k8s~d", None))
    assert found == {"k8s~b": "tokens come 30 ms apart, 12 ms on the other 2 of k8s"}


def test_so_does_one_that_holds_more_than_the_others():
    assert said(engine("k8s~a", 12, 30), engine("k8s~b", 12, 5), engine("k8s~c", 13, 6)) == {
        "k8s~a": "it holds 30 requests, the other 2 of k8s 6 each"
    }


@pytest.mark.parametrize(
    "engines",
    [
        (engine("a", 12), engine("b", 40)),  # targets of their own
        (engine("k8s~a", 12), engine("k8s~b", 40, model="large")),
        (engine("k8s~a", 12), engine("k8s~b", 14)),
        (engine("k8s~a", 1), engine("k8s~b", 4)),  # four times, and nobody feels it
        (engine("k8s~a", 12, 1), engine("k8s~b", 12, 4)),
        (engine("k8s~a", 40, model=""), engine("k8s~b", 12, model="")),
    ],
)
def test_what_is_no_spread(engines):
    assert said(*engines) == {}
    assert with_spread(engines)[0].beside == Text("")
