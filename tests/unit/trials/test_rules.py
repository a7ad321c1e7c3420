"""Verdicts on pairs of blocks that are made up."""

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whystall.model.slo import Slo
from whystall.model.trial import ArmName, Block, Metric
from whystall.trials.metrics import GUARDED, METRICS, worse_by
from whystall.trials.rules import Pair, Rules, bounds, floors_of, judge, promised_by

PLAIN: dict[Metric, float | None] = {
    "ttft_p50": 0.4,
    "ttft_p95": 0.9,
    "itl_p50": 0.03,
    "itl_p95": 0.05,
    "e2e_mean": 5.0,
    "e2e_p95": 8.0,
    "tokens_per_s": 2000.0,
    "errors": 0.0,
    "output_tokens": 200.0,
}


def pair(number: int, noise: float = 0.004, failed: int = 0, requests: int = 1000, **factors: float) -> Pair:
    """A pair in which B's figures are A's times ``factors``, with noise that hits metrics on their own."""
    draw = random.Random(number)

    def block(arm: ArmName, by: dict[str, float]) -> Block:
        figures: dict[Metric, float | None] = {
            metric: None if value is None else value * by.get(metric, 1.0) * math.exp(draw.gauss(0, noise))
            for metric, value in PLAIN.items()
        }
        lost = failed if arm == "b" else 0
        figures["errors"] = lost / requests
        return Block(number, arm, 0.0, 10.0, requests, lost, figures)

    return block("a", {}), block("b", factors)


def pairs(n: int, **how: float) -> list[Pair]:
    return [pair(number, **how) for number in range(n)]  # type: ignore[arg-type]


def test_a_proven_gain_with_every_guard_in_order_is_a_win() -> None:
    found = judge(pairs(6, e2e_mean=0.8, e2e_p95=0.8), Rules())
    assert found.verdict == "WIN"
    assert all(guard.verdict == "holds" for guard in found.guards)
    effect = next(e for e in found.effects if e.metric == "e2e_mean")
    assert (effect.low or 0) < -0.2 < (effect.high or 0) < -0.1


def test_nothing_is_said_before_there_are_enough_pairs() -> None:
    assert judge(pairs(4, e2e_mean=0.5), Rules()).verdict is None
    assert judge(pairs(3, e2e_mean=0.5, e2e_p95=0.5), Rules(restarts=True)).verdict == "WIN"
    assert judge([], Rules()).verdict is None


def test_a_gain_that_costs_elsewhere_is_harm() -> None:
    found = judge(pairs(6, e2e_mean=0.8, ttft_p95=1.3), Rules())
    assert found.verdict == "HARM"
    assert "TTFT p95" in found.because.en
    assert "TTFT p95" in found.because.zh


def test_an_open_guard_holds_a_win_back_unless_only_harm_is_asked_about() -> None:
    seen = pairs(6, noise=0.06, e2e_mean=0.4)
    assert any(guard.verdict == "open" for guard in judge(seen, Rules()).guards)
    assert judge(seen, Rules()).verdict is None
    assert "no regression is not shown yet" in judge(seen, Rules()).because.en
    assert judge(seen, Rules(demand_guards=False)).verdict == "WIN"


def test_no_difference_within_the_least_effect_is_futile() -> None:
    assert judge(pairs(6), Rules()).verdict == "FUTILE"


def test_a_gain_too_small_to_matter_is_no_win() -> None:
    found = judge(pairs(12, e2e_mean=0.98), Rules())
    assert found.verdict == "FUTILE"


def test_what_will_not_be_won_in_the_time_is_given_up() -> None:
    seen = pairs(8, noise=0.08, e2e_mean=1.1)
    assert judge(seen, Rules(), total=None).verdict is None
    assert judge(seen, Rules(), total=12).verdict == "FUTILE"


def test_no_regression_is_shown_and_not_assumed() -> None:
    rules = Rules(goal="no-regression")
    assert judge(pairs(6), rules).verdict == "FUTILE"
    noisy = judge(pairs(6, noise=0.1), rules)
    assert noisy.verdict is None
    assert judge(pairs(6, e2e_mean=0.7, e2e_p95=0.7), rules).verdict == "WIN"


@pytest.mark.parametrize("metric", [metric for metric in GUARDED if metric in PLAIN and metric != "errors"])
def test_every_guard_finds_its_harm(metric: Metric) -> None:
    worse = 0.8 if METRICS[metric].better == "higher" else 1.25
    found = judge(pairs(6, **{metric: worse}), Rules())
    assert found.verdict == "HARM"
    assert METRICS[metric].label.en in found.because.en


def test_output_lengths_may_not_change_either_way() -> None:
    for factor in (0.8, 1.25):
        assert judge(pairs(6, output_tokens=factor), Rules()).verdict == "HARM"


def test_failures_end_it_at_once() -> None:
    assert judge(pairs(1, failed=600), Rules()).verdict == "HARM"
    assert judge(pairs(1, failed=15), Rules()).verdict is None
    assert judge(pairs(2, failed=15), Rules()).verdict == "HARM"


def test_failures_that_chance_brings_end_nothing() -> None:
    def refused(a: int, b: int) -> Pair:
        one, two = pair(1)
        figures = [{**block.figures, "errors": n / 100} for block, n in ((one, a), (two, b))]
        return Block(0, "a", 0.0, 10.0, 100, a, figures[0]), Block(0, "b", 0.0, 10.0, 100, b, figures[1])  # type: ignore[arg-type]

    assert judge([refused(30, 36), refused(30, 35)], Rules()).verdict is None
    assert judge([refused(30, 50), refused(30, 52)], Rules()).verdict == "HARM"


def test_few_requests_bound_few_errors_out() -> None:
    few, many = (judge(pairs(6, requests=n), Rules()) for n in (20, 1000))
    margins = [next(g.margin for g in found.guards if g.metric == "errors") for found in (few, many)]
    assert margins[0] == pytest.approx(3 / 120)
    assert margins[1] == pytest.approx(0.001)


def test_what_nobody_feels_is_no_harm_and_what_was_promised_is_none_either() -> None:
    slower = {"itl_p50": 1.3, "itl_p95": 1.3}
    assert judge(pairs(6, ttft_p50=0.8, **slower), Rules(primary="ttft_p50")).verdict == "HARM"
    promised = Rules(floors=floors_of(Slo.parse("itl_p95=100ms")))
    found = judge(pairs(6, e2e_mean=0.5, e2e_p95=0.5, **slower), promised)
    assert found.verdict == "WIN"
    guard = next(g for g in found.guards if g.metric == "itl_p95")
    assert (guard.verdict, guard.floor) == ("holds", 0.1)


def test_slower_tokens_of_an_answer_that_is_there_sooner_are_a_price_and_said() -> None:
    slower = {"itl_p50": 1.3, "itl_p95": 1.3}
    found = judge(pairs(6, e2e_mean=0.5, e2e_p95=0.5, **slower), Rules())
    assert found.verdict == "WIN"
    assert {g.metric for g in found.guards if g.verdict == "outweighed"} == {"itl_p50", "itl_p95"}
    assert found.because.en.endswith("; price: median ITL 30 to 38.9 ms")
    assert "代价：ITL 中位数 30 → 38.9 毫秒" in found.because.zh


def test_gaps_that_are_pauses_or_break_a_promise_or_a_regression_asked_about_are_outweighed_by_nothing() -> None:
    sooner = {"e2e_mean": 0.5, "e2e_p95": 0.5}
    assert judge(pairs(6, **sooner, itl_p95=5.0), Rules()).verdict == "HARM"
    slo = Slo.parse("itl_p95=55ms")
    promised = Rules(floors=floors_of(slo), promised=promised_by(slo))
    assert judge(pairs(6, **sooner, itl_p95=1.3), promised).verdict == "HARM"
    assert judge(pairs(6, **sooner, itl_p95=1.3), Rules(goal="no-regression")).verdict == "HARM"


def test_slower_tokens_wait_for_the_proof_of_what_they_seem_to_have_bought() -> None:
    noisy = [
        pair(n, e2e_mean=by, e2e_p95=by, ttft_p50=0.5, itl_p95=1.5) for n, by in enumerate((0.2, 0.9, 0.4, 1.0, 0.3))
    ]
    found = judge(noisy, Rules(primary="ttft_p50"))
    assert found.verdict is None
    assert {g.metric for g in found.guards if g.verdict == "open"} >= {"itl_p95", "e2e_p95"}


def test_slower_tokens_that_buy_too_little_are_harm() -> None:
    for e2e in (1.0, 0.97, 1.1):
        assert judge(pairs(6, ttft_p50=0.5, itl_p95=1.3, e2e_mean=e2e), Rules(primary="ttft_p50")).verdict == "HARM"


def test_a_restart_asks_for_twice_the_effect() -> None:
    assert Rules(restarts=True).effect == 2 * Rules().effect
    assert Rules(restarts=True, minimum_effect=0.07).effect == 0.07


@given(st.integers(5, 12), st.floats(0.005, 0.1), st.floats(0.5, 1.5))
def test_harm_and_win_never_come_from_the_same_pairs_turned_round(n: int, noise: float, factor: float) -> None:
    seen = pairs(n, noise=noise, e2e_mean=factor)
    turned = [(b, a) for a, b in seen]
    verdicts = {judge(seen, Rules()).verdict, judge(turned, Rules()).verdict}
    assert verdicts != {"WIN"}


def test_bounds_are_written_for_people() -> None:
    assert bounds(-0.1234, 0.05, "relative").en == "-12.3% to +5.0%"
    assert bounds(-0.001, 0.02, "points").zh == "-0.1 至 +2.0 个百分点"
    assert bounds(None, 99.0, "relative").en == "? to ×100"


def at_the_edge(seed: int, count: int) -> list[Pair]:
    """B worse than A in every guard by just what is none of its harm yet, with noise of their own."""
    draw = random.Random(f"edge {seed}")
    found: list[Pair] = []
    for number in range(count):
        a: dict[Metric, float | None] = dict(PLAIN)
        b: dict[Metric, float | None] = dict(PLAIN)
        for metric in EDGE:
            entry = METRICS[metric]
            edge = worse_by(entry, entry.margin) / 2 * (-1 if entry.better == "higher" else 1)
            b[metric] = (PLAIN[metric] or 0.0) * math.exp(edge + draw.gauss(0, 0.03))
        blocks = (Block(number, arm, 0.0, 10.0, 1000, 0, of) for arm, of in (("a", a), ("b", b)))
        found.append(tuple(blocks))  # type: ignore[arg-type]
    return found


EDGE: tuple[Metric, ...] = ("ttft_p50", "ttft_p95", "itl_p50", "itl_p95", "e2e_p95", "tokens_per_s", "output_tokens")


def test_many_guards_take_nothing_for_harm_more_often_than_one() -> None:
    """The level is shared: each guard at 5% by itself found harm in a fifth of these."""
    rules, harmed = Rules(primary="e2e_mean", guarded=EDGE, floors={}), 0
    for seed in range(150):
        series = at_the_edge(seed, 16)
        harmed += any(judge(series[:n], rules).verdict == "HARM" for n in range(5, 17))
    assert harmed / 150 <= 0.08


@given(st.lists(st.floats(0.2, 5.0), min_size=5, max_size=9))
def test_what_each_arm_had_is_as_far_apart_as_the_change_says(factors: list[float]) -> None:
    found = judge([pair(n, noise=0.5, e2e_mean=by) for n, by in enumerate(factors)], Rules())
    effect = next(one for one in found.effects if one.metric == "e2e_mean")
    assert effect.a is not None
    assert effect.b is not None
    assert effect.mid is not None
    assert effect.b / effect.a == pytest.approx(1 + effect.mid)


def test_nothing_is_no_less_than_nothing() -> None:
    assert bounds(-0.0, -1e-9, "points").en == "+0.0 to +0.0 points"
    assert bounds(-0.0001, 0.0, "relative").en == "+0.0% to +0.0%"
