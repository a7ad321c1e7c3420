"""Which remedy is tried, on which metric it is proven, and what is kept."""

from __future__ import annotations

import msgspec
import pytest

from kept_cases import kv_diagnosis
from loop_scenes import SEATS, prediction, remedy
from whystall.loop.decision import chosen, decide, improvement_of, primary_of
from whystall.model.diagnosis import Diagnosis, Impact
from whystall.model.text import Text
from whystall.model.trial import Effect, Trial, TrialArm

SURE, MAYBE, NO = (prediction(advice, ttft_mean=(-0.9, -0.5)) for advice in ("recommend", "canary", "no"))
RISKY = prediction("canary", 0.6, ttft_mean=(-0.9, -0.5))
CAPACITY = remedy({}, kind="capacity")


def queued(**impact: float) -> Diagnosis:
    return msgspec.structs.replace(kv_diagnosis(), impact=Impact(**impact))


def trial(verdict: str, *effects: Effect, primary: str = "ttft_mean") -> Trial:
    arm = TrialArm("x")
    return Trial(arm, arm, verdict, Text("so it was seen"), primary, 0.1, effects)  # type: ignore[arg-type]


def effect(low: float | None, high: float | None, metric: str = "ttft_mean", better: str = "lower") -> Effect:
    mid = None if low is None or high is None else (low + high) / 2
    return Effect(metric, "s", "relative", better, low, mid, high, 5)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("remedies", "canary", "picked"),
    [
        ([CAPACITY, remedy(SEATS, SURE)], False, 1),
        ([remedy(SEATS, MAYBE), remedy(SEATS, SURE)], False, 1),
        ([remedy(SEATS, MAYBE)], False, 0),
        ([remedy(SEATS, RISKY)], False, None),
        ([remedy(SEATS, RISKY), remedy(SEATS, MAYBE)], False, 1),
        ([remedy(SEATS, RISKY)], True, 0),
        ([remedy(SEATS, NO)], True, None),
        ([remedy(SEATS)], False, None),
        ([remedy(SEATS)], True, 0),
        ([CAPACITY], True, None),
        ([], False, None),
    ],
)
def test_the_first_that_is_sure_enough(remedies: list, canary: bool, picked: int | None) -> None:
    found = chosen(remedies, ["seat_cap"], canary=canary)
    assert found.remedy is (None if picked is None else remedies[picked])
    assert found.because.en
    assert found.because.zh != found.because.en


def test_the_metric_is_the_surest_gain() -> None:
    assert primary_of(prediction(ttft_mean=(-0.99, 0.1), tokens_per_s=(0.5, 0.9))) == "tokens_per_s"
    assert primary_of(prediction(ttft_mean=(-0.9, -0.6), itl_p95=(-0.5, -0.4))) == "ttft_mean"
    assert primary_of(prediction(itl_p95=(-0.5, -0.4), itl_mean=(-0.3, -0.1)), ("e2e_mean", "itl_mean")) == "itl_mean"
    assert primary_of(prediction(ttft_mean=(-0.8, -0.3), ttft_p95=(-0.8, -0.4))) == "ttft_mean"  # a tail shows later
    assert primary_of(None) == "e2e_mean"
    assert primary_of(prediction(ttft_mean=(0.1, 0.5))) == "e2e_mean"


def test_without_a_prediction_a_wait_for_the_first_token_is_proven_on_it() -> None:
    queue = queued(queue_s=5.0, ttft_mean_s=5.5)
    assert primary_of(None, diagnosis=queue) == "ttft_mean"
    assert primary_of(None, diagnosis=queued(queue_s=0.1, ttft_mean_s=0.15)) == "e2e_mean"  # nobody feels it
    assert primary_of(None, diagnosis=queued(queue_s=1.0, ttft_mean_s=5.5)) == "e2e_mean"  # prefill
    assert primary_of(prediction(tokens_per_s=(0.5, 0.9)), diagnosis=queue) == "tokens_per_s"


def test_only_a_win_is_kept() -> None:
    good = prediction(ttft_mean=(-0.9, -0.3))
    assert decide(trial("WIN", effect(-0.6, -0.4)), good).keep
    assert decide(trial("WIN", effect(-0.99, -0.95)), good).keep  # better than predicted
    assert decide(trial("WIN", effect(-0.35, -0.2)), good).keep  # may be as predicted
    assert decide(trial("WIN", effect(-0.5, -0.4)), None).keep
    for verdict in ("HARM", "FUTILE", "INCONCLUSIVE"):
        assert not decide(trial(verdict, effect(-0.6, -0.4)), good).keep


def test_a_miss_on_the_bad_side_is_not_kept() -> None:
    missed = decide(trial("WIN", effect(-0.25, -0.1)), prediction(ttft_mean=(-0.9, -0.3)))
    assert not missed.keep
    assert "-90% … -30%" in missed.because.en
    slow = trial("WIN", effect(0.1, 0.2, "tokens_per_s", "higher"), primary="tokens_per_s")
    assert not decide(slow, prediction(tokens_per_s=(0.5, 0.9))).keep


def test_the_improvement_is_in_percent_and_missing_where_it_is_thin() -> None:
    found = improvement_of(trial("WIN", effect(-0.5, -0.25, "e2e_mean"), effect(None, None, "tokens_per_s", "higher")))
    assert found.latency_percent is not None
    assert (found.latency_percent.low, found.latency_percent.mid) == (-50.0, -37.5)
    assert found.throughput_percent is None
