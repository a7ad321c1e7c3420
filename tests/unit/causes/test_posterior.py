import math
from itertools import chain, combinations

import msgspec
import pytest
from hypothesis import given as drawn
from hypothesis import strategies as st

from whystall.causes.catalogue import catalogue
from whystall.causes.entry import CauseEntry
from whystall.causes.posterior import ABSENT, LONE_TRIGGER, PAIR_PRIOR, given, log_odds, posterior, pulls
from whystall.model.diagnosis import Evidence
from whystall.model.text import Text

PLAIN = msgspec.structs.replace(catalogue()["seat_cap"], weights={}, hurts_as=(), acts_through=(), bias=-4.0)
strengths = st.floats(-1.5, 1.5)


def cause(name: str, weights: dict[str, float], **more: object) -> CauseEntry:
    return msgspec.structs.replace(PLAIN, id=name, weights=weights, **more)


def seen(**strength: float) -> dict[str, Evidence]:
    named = {name.replace("_", "."): value for name, value in strength.items()}
    return {name: Evidence(name, value, "", value, Text("x"), "metrics") for name, value in named.items()}


@drawn(st.dictionaries(st.sampled_from("abcdef"), st.floats(-8, 8), max_size=6))
def test_causes_that_share_no_evidence_are_weighed_over_all_sets(odds: dict[str, float]) -> None:
    entries = [cause(name, {}, bias=bias) for name, bias in odds.items()]
    weights = {frozenset(): 1.0} | {frozenset(n): math.exp(b) for n, b in odds.items()}
    for some in chain(combinations(odds, 2), combinations(odds, 3)):
        weights[frozenset(some)] = PAIR_PRIOR ** (len(some) - 1) * math.exp(sum(odds[name] for name in some))
    total = sum(weights.values())
    found = posterior(entries, {})
    assert sum(p for _, p in found.sets) == pytest.approx(1.0)
    for name in odds:
        assert found.marginal[name] == pytest.approx(sum(w for s, w in weights.items() if name in s) / total)


def test_two_certain_causes_with_evidence_of_their_own_are_both_certain() -> None:
    both = [cause("a", {"x.one": 10.0}), cause("b", {"y.one": 10.0}), cause("c", {"z.one": 10.0})]
    found = posterior(both, seen(x_one=1.5, y_one=1.5, z_one=-1.0)).marginal
    assert found["a"] > 0.99
    assert found["b"] > 0.99
    assert found["c"] < 1e-4


def test_evidence_that_one_cause_accounts_for_gives_the_other_no_credit() -> None:
    """Explaining away: the queue speaks for both, but only one of them has its own mechanism."""
    both = [cause("a", {"queue.delay": 4.0, "x.one": 4.0}), cause("b", {"queue.delay": 6.0})]
    alone = posterior(both[1:], seen(queue_delay=1.5)).marginal["b"]
    beside = posterior(both, seen(queue_delay=1.5, x_one=1.5)).marginal
    assert alone > 0.9
    assert beside["a"] > 0.8
    assert beside["b"] < 0.5


def test_a_trigger_and_its_limit_are_one_incident() -> None:
    trigger = cause("t", {"p.longer": 4.0}, acts_through=("k",))
    limit = cause("k", {"kv.full": 4.0})
    assert given({}, (trigger, limit)) == 0
    assert given({}, (limit, cause("other", {}))) == pytest.approx(math.log(PAIR_PRIOR))
    assert given({}, (trigger,)) == pytest.approx(math.log(LONE_TRIGGER))
    found = posterior([trigger, limit], seen(p_longer=1.5, kv_full=1.5)).marginal
    assert min(found.values()) > 0.7


def test_a_trigger_and_its_limit_may_come_with_another_cause() -> None:
    trigger = cause("t", {"p.longer": 4.0}, acts_through=("k",))
    limit, other = cause("k", {"kv.full": 4.0}), cause("o", {"x.one": 7.0})
    assert given({}, (trigger, limit, other)) == pytest.approx(math.log(PAIR_PRIOR))
    found = posterior([trigger, limit, other], seen(p_longer=1.5, kv_full=1.5, x_one=1.5)).marginal
    assert min(found.values()) > 0.7


@drawn(st.lists(strengths, min_size=3, max_size=3))
def test_evidence_of_three_causes_counts_once(each: list[float]) -> None:
    """Noisy-OR with a rare leak: likelihood ratios A, B and C give A + B + C - 2."""
    entries = [cause(name, {f"x.{name}": 4.0}, bias=0.0) for name in "abc"]
    named = zip("abc", each, strict=True)
    shown = {f"x.{n}": Evidence(f"x.{n}", s, "", abs(s), Text("x"), "metrics") for n, s in named}
    found = dict(posterior(entries, shown).sets)
    ratio = found[frozenset("abc")] / found[frozenset()]
    joint = sum(math.exp(4.0 * abs(s)) for s in each) - 2
    assert ratio == pytest.approx(PAIR_PRIOR**2 * joint, rel=1e-6)


def test_who_makes_the_loss_that_was_seen_is_more_probable() -> None:
    makes, not_ = cause("a", {}, hurts_as=("itl",)), cause("b", {}, hurts_as=("queue",))
    found = posterior([makes, not_], {}, {"itl": 1.0}).marginal
    assert found["a"] > 2 * found["b"]
    same = posterior([makes, not_], {}).marginal
    assert same["a"] == pytest.approx(same["b"])


@drawn(strengths, strengths)
def test_correlated_evidence_is_tempered_and_never_less_than_its_strongest(one: float, two: float) -> None:
    entry = cause("a", {"kv.one": 2.0, "kv.two": 2.0, "queue.one": 1.0})
    pulled = pulls(entry, seen(kv_one=one, kv_two=two))["kv"]
    positive = [2 * x for x in (one, two) if x > 0]
    assert pulled.speaks_for <= sum(positive) + 1e-9
    assert pulled.speaks_for >= max(positive, default=0.0) - 1e-9
    assert pulled.against <= 0


def test_two_equal_pieces_of_a_family_count_as_the_square_root_of_two() -> None:
    entry = cause("a", {"kv.one": 2.0, "kv.two": 2.0})
    assert log_odds(entry, seen(kv_one=1.0, kv_two=1.0)) == pytest.approx(entry.bias + 2 * math.sqrt(2))


def test_large_odds_do_not_overflow() -> None:
    found = posterior([cause("a", {}, bias=2000.0), cause("b", {}, bias=-2000.0)], {}).marginal
    assert found == pytest.approx({"a": 1.0, "b": 0.0})


def test_evidence_that_was_not_seen_says_nothing() -> None:
    entry = next(iter(catalogue().values()))
    assert log_odds(entry, {}) == entry.bias
    name, weight = next(iter(entry.weights.items()))
    found = {name: Evidence(name, 1.0, "", 1.5, Text("x"), "metrics")}
    assert log_odds(entry, found) == pytest.approx(entry.bias + 1.5 * weight)


def test_a_temperature_makes_less_sure() -> None:
    entries = [cause("a", {"x.one": 6.0}), cause("b", {"y.one": 1.0})]
    sure = posterior(entries, seen(x_one=1.0)).marginal["a"]
    less = posterior(entries, seen(x_one=1.0), temperature=2.0).marginal["a"]
    assert 0.5 < less < sure


def test_a_rival_is_a_set_that_contradicts() -> None:
    entries = [cause("a", {}, bias=5.0), cause("b", {}, bias=4.0), cause("c", {}, bias=-5.0)]
    found = posterior(entries, {})
    best = found.sets[0][0]
    assert best == {"a", "b"}
    rival, probability = found.rival("a")
    assert "a" not in rival
    assert not rival <= best
    assert probability < 0.01
    assert posterior([entries[0]], {}).rival("a") == (frozenset(), 0.0)


def test_a_contradiction_that_is_missing_says_little_and_one_that_is_there_all() -> None:
    suspect = cause("a", {"x.one": -4.0})
    assert log_odds(suspect, seen(x_one=1.0)) == pytest.approx(-4.0 - 4.0)
    assert log_odds(suspect, seen(x_one=-1.0)) == pytest.approx(-4.0 + ABSENT * 4.0)


def test_what_a_cause_predicts_counts_in_full_whether_it_is_there_or_not() -> None:
    suspect = cause("a", {"x.one": 4.0})
    assert log_odds(suspect, seen(x_one=1.0)) == pytest.approx(0.0)
    assert log_odds(suspect, seen(x_one=-1.0)) == pytest.approx(-8.0)


@pytest.mark.parametrize(("kind", "odds"), [("queue", 0.3), ("client", 0.05)])
def test_what_nothing_in_the_server_makes_wants_a_cause_of_its_own(kind: str, odds: float) -> None:
    """Without one that makes it a kind of loss is a side effect, or there by chance."""
    assert given({kind: 1.0}, (cause("a", {}),)) == pytest.approx(math.log(odds))
