"""What was seen, weighed: when it is an answer and when it stays open."""

import msgspec
import pytest

from whystall.causes.catalogue import catalogue
from whystall.causes.entry import CauseEntry, Link, Need
from whystall.causes.weighing import ALONE, ANSWER, MARGIN, SHOWN, Seen, standing, weigh
from whystall.model.diagnosis import Evidence
from whystall.model.text import Text


def cause(name: str, evidence: str, **more: object) -> CauseEntry:
    link = Link(Text("it is so", "如此"), (Need(evidence),))
    plain = {"id": name, "weights": {evidence: 4.0}, "links": (link,), "bias": -4.0, "hurts_as": ("queue",)}
    return msgspec.structs.replace(catalogue()["seat_cap"], **{**plain, "acts_through": (), **more})


def seen(hurts: bool = True, **strength: float) -> Seen:
    named = {name.replace("_", ".", 1): value for name, value in strength.items()}
    evidence = {name: Evidence(name, value, "", value, Text("x"), "metrics") for name, value in named.items()}
    return Seen(evidence, {"queue": 1.0} if hurts else {}, hurts)


def both(**more: object) -> dict[str, CauseEntry]:
    return {"a": cause("a", "x.one"), "b": cause("b", "x.two", **more)}


def test_a_cause_that_stands_out_is_the_answer() -> None:
    found = weigh(seen(x_one=1.5, x_two=-0.5), both())
    assert (found.verdict, found.named) == ("bottleneck", ("a",))


def test_two_that_are_nearly_as_probable_are_left_open() -> None:
    """Each would do alone; with the evidence of one family explained once, either explains it."""
    found = weigh(seen(x_one=1.5, x_two=1.5), both(order=0))
    assert found.verdict == "unknown"
    assert set(found.named) == {"a", "b"}
    assert abs(found.probability["a"] - found.probability["b"]) < MARGIN


def test_two_with_evidence_of_their_own_are_both_named() -> None:
    entries = {"a": cause("a", "x.one"), "b": cause("b", "y.two")}
    found = weigh(seen(x_one=1.5, y_two=1.5), entries)
    assert (found.verdict, set(found.named)) == ("bottleneck", {"a", "b"})


def test_a_cause_whose_check_fails_or_that_makes_no_such_loss_does_not_stand() -> None:
    assert set(standing(seen(x_one=0.0, x_two=1.0), both())) == {"b"}
    assert "a" not in standing(seen(x_one=1.0), {"a": cause("a", "x.one", hurts_as=("itl",))})
    assert standing(seen(hurts=False, x_one=1.0), both()) == {}


def test_a_trigger_is_no_surer_than_its_limit() -> None:
    entries = {"t": cause("t", "y.one", acts_through=("a",)), "a": cause("a", "x.one")}
    found = weigh(seen(y_one=1.5, x_one=0.6), entries)
    assert found.probability["t"] <= max(found.probability["a"], 0.5)


def test_a_trigger_is_sure_where_only_its_limit_is_open() -> None:
    limits = {name: cause(name, f"x.{name}") for name in ("a", "b", "c")}
    sure = msgspec.structs.replace(cause("t", "y.one", acts_through=("a", "b", "c")), weights={"y.one": 12.0})
    found = weigh(seen(y_one=1.5, x_a=1.5, x_b=1.5, x_c=1.5), {"t": sure, **limits})
    assert found.named[0] == "t"
    assert found.probability["t"] > 0.8 > max(found.probability[name] for name in limits)


@pytest.mark.parametrize("temperature", [1.0, 4.0])
def test_a_higher_temperature_leaves_more_open(temperature: float) -> None:
    found = weigh(seen(x_one=1.3, x_two=0.3), both(), temperature)
    assert (found.verdict == "bottleneck") == (temperature == 1.0)


@pytest.mark.parametrize(("weight", "alone"), [(12.0, True), (4.0, False)])
def test_a_trigger_stands_alone_where_one_of_its_open_limits_is_more_likely(weight: float, alone: bool) -> None:
    """The limits are open though one has 0.5 to 0.6; a trigger that is less sure than ``ALONE`` does not outdo it."""
    limits = {name: cause(name, f"x.{name}") for name in ("a", "b")}
    trigger = msgspec.structs.replace(cause("t", "y.one", acts_through=("a", "b")), weights={"y.one": weight})
    found = weigh(seen(y_one=1.5, x_a=1.5, x_b=1.4), {"t": trigger, **limits})
    assert SHOWN < found.probability["a"] < ANSWER
    if alone:
        assert (found.verdict, found.named[0]) == ("bottleneck", "t")
        assert found.probability["t"] >= ALONE
    else:
        assert found.verdict == "unknown"
        assert found.probability["t"] <= found.probability["a"]


def test_what_is_lost_on_the_way_to_the_client_leaves_a_trigger_alone() -> None:
    trigger = cause("t", "y.one", acts_through=("a",), alone_as=("ttft",), hurts_as=("ttft",))
    far = cause("n", "x.one", hurts_as=("client",))
    lost = seen(y_one=1.5, x_one=1.5)._replace(kinds={"ttft": 0.9, "client": 0.9})
    assert set(weigh(lost, {"t": trigger, "n": far}).named) == {"t", "n"}


def test_a_trigger_that_is_left_alone_is_what_makes_the_late_first_tokens() -> None:
    """Beside a slow way to the client the server's own late first tokens want a cause: the way makes none."""
    way, trigger = (
        cause("w", "x.one", hurts_as=("client",)),
        cause("t", "y.one", acts_through=("a",), hurts_as=("queue",)),
    )
    entries = {"w": way, "t": msgspec.structs.replace(trigger, alone_as=("ttft",)), "a": cause("a", "z.one")}
    found = seen(x_one=1.5, y_one=1.2)._replace(kinds={"client": 1.0, "ttft": 1.0})
    unsaid = entries | {"t": msgspec.structs.replace(trigger, acts_through=(), hurts_as=("itl", "queue"))}
    assert weigh(found, entries).probability["t"] > weigh(found, unsaid).probability["t"] + 0.1
