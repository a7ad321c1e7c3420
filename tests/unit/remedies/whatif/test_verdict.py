"""From pairs of runs to intervals, harm and advice."""

import math

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from whystall.model.slo import Slo
from whystall.remedies.whatif.model_error import ERRORS, spread
from whystall.remedies.whatif.play import Figures
from whystall.remedies.whatif.verdict import advice, binds_next, catches_up, judged, metrics_of, off_by, reason, sampled

NOW = {"ttft_mean": 2.0, "ttft_p95": 4.0, "itl_mean": 0.02, "itl_p95": 0.03, "e2e_p95": 10.0, "tokens_per_s": 1000.0,
       "goodput": math.nan, "kv_headroom": 0.1, "preemptions": 0.0}  # fmt: skip


def run(by=1.0, seats=0.0, queued=0.0, kv_short=0.0, kv_peak=0.5, rejected=0.0, **metrics):
    values = {**NOW, "goodput": 5.0, **metrics}
    scaled = {k: v * by if k in ("ttft_mean", "ttft_p95", "e2e_p95") else v for k, v in values.items()}
    return Figures(scaled, seats, queued, kv_peak, kv_short, rejected, 10.0)


def samples(changed, now=NOW, baseline=None, fit=0.01):
    return sampled(now, baseline or [run()] * 20, [changed] * 20, fit)


def test_no_change_is_no_effect_and_no_harm():
    meets, harm, harmed = judged(samples(run()), None)
    assert meets < 0.05
    assert harm < 0.05
    assert harmed == ()
    assert advice(meets, harm) == "no"


def test_a_shorter_queue_is_recommended():
    found = samples(run(0.3))
    meets, harm, _ = judged(found, None)
    assert advice(meets, harm) == "recommend"
    metrics = {m.id: m for m in metrics_of(NOW, found)}
    assert metrics["ttft_p95"].relative.mid == pytest.approx(-0.7, abs=0.03)
    assert metrics["ttft_p95"].predicted.mid == pytest.approx(1.2, rel=0.1)
    assert metrics["goodput"].now is None
    assert metrics["preemptions"].relative is None


def test_what_nobody_feels_is_no_harm():
    quick = {**NOW, "itl_mean": 0.005, "itl_p95": 0.006}
    baseline = [run(itl_mean=0.005, itl_p95=0.006)] * 20
    slower = run(0.3, itl_mean=0.010, itl_p95=0.012)
    assert judged(samples(slower, quick, baseline), None)[1] < 0.05
    assert judged(samples(slower, quick, baseline), Slo(itl_p95_s=0.008))[1] > 0.9


def test_a_worse_tail_is_harm_and_named():
    _, harm, harmed = judged(samples(run(itl_p95=0.09)), None)
    assert harm > 0.95
    assert "itl_p95" in harmed
    assert "ITL p95" in reason(1.0, harm, harmed).zh


def holding(peak, **figures):
    return [msgspec.structs.replace(run(**figures), running_peak=peak)] * 20


def test_fewer_tokens_of_a_server_that_has_caught_up_are_no_harm():
    found = samples(run(0.1, tokens_per_s=850.0))
    assert judged(found, None)[2] == ("tokens_per_s",)
    meets, harm, harmed = judged(found, None, caught_up=True)
    assert (advice(meets, harm), harmed) == ("recommend", ())


@pytest.mark.parametrize(
    ("changed", "replicas"),
    [(holding(40.0, queued=0.3), 1), (holding(40.0, rejected=2.0), 1), (holding(120.0), 1), (holding(60.0), 2)],
    ids=["some wait", "some are refused", "more are inside", "more are inside of both"],
)
def test_who_has_not_caught_up(changed, replicas):
    busy = holding(100.0, queued=0.5)
    assert not catches_up(busy, changed, replicas)
    assert catches_up(busy, holding(40.0), 2)


def test_slower_tokens_of_requests_that_end_sooner_are_a_price_and_no_harm():
    slower = samples(run(0.3, itl_mean=0.04, itl_p95=0.09))
    meets, harm, harmed = judged(slower, None)
    assert advice(meets, harm) == "recommend"
    assert harmed == ()
    assert judged(slower, Slo(itl_p95_s=0.05))[1] > 0.9  # promised
    assert judged(samples(run(0.3, itl_p95=0.9)), None)[1] > 0.9  # a pause


def test_a_window_that_is_not_reproduced_widens_the_interval():
    off = [run(ttft_mean=1.0, ttft_p95=2.0)] * 20
    half = run(ttft_mean=0.5, ttft_p95=1.0)
    assert off_by(NOW, off)["ttft_mean"] == pytest.approx(math.log(0.5))
    near = metrics_of(NOW, samples(run(0.5)))[0].relative
    far = metrics_of(NOW, samples(half, baseline=off))[0].relative
    assert far.high - far.low > 2 * (near.high - near.low)


@given(st.sampled_from(list(ERRORS)), st.floats(0, 5), st.floats(0, 1))
def test_the_error_grows_with_the_change(metric, moved, fit):
    small, large = (spread(metric, m, m, fit, {}) for m in (moved, moved + 1))
    assert 0 < small <= large


@pytest.mark.parametrize(
    ("meets", "harm", "said"),
    [
        (1, 0, "recommend"),
        (0.8, 0.05, "recommend"),
        (0.79, 0, "canary"),
        (0.9, 0.3, "canary"),
        (1.0, 0.5, "no"),
        (1.0, 0.99, "no"),
        (0.4, 0, "no"),
        (0.6, 0.7, "no"),
    ],
)
def test_the_rule(meets, harm, said):
    assert advice(meets, harm) == said


@pytest.mark.parametrize(
    ("figures", "id"),
    [
        (run(seats=0.9, queued=0.9), "seat_cap"),
        (run(preemptions=1.0), "kv_capacity"),
        (run(kv_short=0.5, kv_peak=0.95), "kv_capacity"),
        (run(rejected=2.0), "queue_limit"),
        (run(queued=0.5), "prefill_bound"),
        (run(), ""),
    ],
)
def test_what_binds_next(figures, id):
    assert binds_next([figures] * 3, budget=8192, knee=200).id == id


def test_a_budget_below_the_knee_binds_itself():
    assert binds_next([run(queued=0.5)], budget=128, knee=200).id == "token_budget"
