"""A recorded server and what changes would do to it: sizes, directions, refusals, ranking."""

import msgspec
import numpy as np
import pytest

from whystall.errors import TooLittleData, UsageError
from whystall.model.diagnosis import Tried
from whystall.model.prediction import NotPredicted, Prediction
from whystall.model.slo import Slo
from whystall.pipeline import diagnose, states_of
from whystall.remedies.situation import situation
from whystall.remedies.whatif.prediction import (
    WhatIfAsked,
    asked_of,
    predict,
    predict_remedies,
    setting,
    stage_of,
    sweep_of,
    what_if,
    worth,
)
from whystall.remedies.whatif.subject import options_of
from whystall.reports.outlining_tables import effect_text
from whystall.sources.files.recording import read_recording


@pytest.fixture(scope="module")
def seq_cap(request):
    folder = request.config.rootpath / "tests" / "data" / "recordings" / "seq_cap"
    recording = read_recording(folder)
    return diagnose(recording).diagnosis, states_of(recording)[0]


@pytest.fixture(scope="module")
def stage(seq_cap):
    return stage_of(*seq_cap, count=4)


def ask(stage, **assume):
    found = predict(stage, WhatIfAsked(assume.pop("change", {}), {k: str(v) for k, v in assume.items()}))
    assert isinstance(found, Prediction), found
    return found


def test_more_seats_end_the_queue(stage):
    found = ask(stage, change={"--max-num-seqs": "96"})
    assert found.advice == "recommend"
    assert found.metric("ttft_p95").relative.high < -0.5
    assert found.metric("tokens_per_s").relative.low > 0.5
    assert found.metric("itl_mean").relative.low > 0
    assert found.profile.origin == "fitted"
    assert abs(found.profile.reproduced["tokens_per_s"]) < 0.1
    assert found.binds_next.id == ""
    assert any("steps seen had 16" in text.en for text in found.warnings)


def test_fewer_seats_harm(stage):
    found = ask(stage, change={"--max-num-seqs": "8"})
    assert found.advice == "no"
    assert found.p_harm > 0.95
    assert {"ttft_p95", "tokens_per_s"} <= set(found.harmed)
    assert found.binds_next.id == "seat_cap"


def test_what_is_set_already_changes_nothing_and_says_so(stage):
    found = ask(stage, change={"--max-num-seqs": "16"})
    assert found.advice == "no"
    assert found.p_harm < 0.05
    assert abs(found.metric("tokens_per_s").relative.mid) < 0.01
    assert any("set so already" in text.en for text in found.warnings)


def test_an_interval_holds_its_middle(stage):
    for metric in ask(stage, change={"--max-num-seqs": "32"}).metrics:
        assert metric.predicted.low <= metric.predicted.mid <= metric.predicted.high
        if metric.relative:
            assert metric.relative.low <= metric.relative.mid <= metric.relative.high


def test_a_second_replica_takes_half_of_the_load(stage):
    found = ask(stage, replicas=2)
    assert found.metric("ttft_mean").relative.high < -0.3
    assert found.metric("tokens_per_s").relative.low > 0.5


def test_more_clients_wait_longer(stage):
    assert ask(stage, clients=192).metric("ttft_mean").relative.low > 0.5
    assert ask(stage, rate="x0.25").metric("ttft_mean").relative.high < -0.3


def test_the_promise_decides_what_is_harm(seq_cap):
    strict = stage_of(*seq_cap, Slo(itl_p95_s=0.010), count=4)
    found = ask(strict, change={"--max-num-seqs": "96"})
    assert "itl_p95" in found.harmed
    assert found.advice != "recommend"


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"--speculative-config": "{}"}, "drafted"),
        ({"--quantization": "fp8"}, "kernels"),
        ({"--api-server-count": "4"}, "front end"),
        ({"--max-num-partial-prefills": "2"}, "V1 refuses"),
        ({"--max-model-len": "100000000"}, "KV pool"),
    ],
)
def test_what_cannot_be_said_is_said_by_name(stage, change, reason):
    found = predict(stage, WhatIfAsked(change))
    assert isinstance(found, NotPredicted)
    assert reason in found.because.en
    assert found.because.zh != found.because.en


def test_what_would_not_start_is_refused(seq_cap):
    with pytest.raises(UsageError, match="refuse to start"):
        what_if(*seq_cap, [WhatIfAsked({"--max-num-seqs": "0"})])


def test_a_sweep_keeps_the_values_that_start(seq_cap, monkeypatch, stage):
    monkeypatch.setattr("whystall.remedies.whatif.prediction.stage_of", lambda *_: stage)
    found = what_if(*seq_cap, sweep_of("max-num-seqs=0,32"))
    assert [one.change for one in found.predictions] == [{"--max-num-seqs": "32"}]
    assert [one.change for one in found.not_predicted] == [{"--max-num-seqs": "0"}]


def test_remedies_come_with_their_effect_and_the_best_first(seq_cap, monkeypatch, stage):
    monkeypatch.setattr("whystall.remedies.whatif.prediction.stage_of", lambda *_: stage)
    diagnosis, state = seq_cap
    first = diagnosis.remedies[0]
    worse = msgspec.structs.replace(first, id="worse", change={"--max-num-seqs": "8"})
    found = predict_remedies(msgspec.structs.replace(diagnosis, remedies=(worse, first)), state)
    assert [remedy.id for remedy in found] == [first.id]
    assert found[0].effect["ttft_p95"].high < -0.5
    assert found[0].prediction.advice == "recommend"
    assert any("predicted" in one.because.en for one in found[0].not_offered)
    alone = predict_remedies(msgspec.structs.replace(diagnosis, remedies=(worse,)), state)
    assert [remedy.prediction.advice for remedy in alone] == ["no"]


def test_too_short_a_window_is_refused_and_leaves_the_remedies(seq_cap):
    diagnosis, state = seq_cap
    bare = msgspec.structs.replace(state, series=None)
    with pytest.raises(TooLittleData):
        stage_of(diagnosis, bare)
    found = predict_remedies(diagnosis, bare)
    assert [remedy.id for remedy in found] == [remedy.id for remedy in diagnosis.remedies]
    assert all("too few scrapes" in remedy.not_predicted.en for remedy in found if remedy.change)


def test_what_is_not_predicted_says_why(seq_cap, monkeypatch, stage):
    monkeypatch.setattr("whystall.remedies.whatif.prediction.stage_of", lambda *_: stage)
    diagnosis, state = seq_cap
    first = diagnosis.remedies[0]
    told = [
        msgspec.structs.replace(first, id="kernels", change={"--quantization": "fp8"}),
        msgspec.structs.replace(first, id="by hand", change={}),
        first,
        msgspec.structs.replace(first, id="later", change={"--max-num-seqs": "32"}),
    ]
    found = {r.id: r for r in predict_remedies(msgspec.structs.replace(diagnosis, remedies=tuple(told)), state, most=2)}
    assert found[first.id].not_predicted is None
    assert "speed is not known" in found["kernels"].not_predicted.en
    assert "no flag" in found["by hand"].not_predicted.en
    assert "first 2" in found["later"].not_predicted.en
    assert "speed is not known" in effect_text(found["kernels"], "en")


def test_seats_that_nobody_told_are_at_least_as_many_as_were_taken(seq_cap):
    diagnosis, state = seq_cap
    unknown = tuple(limit for limit in state.limits if limit.name != "max_num_seqs")
    configuration = msgspec.structs.replace(state.configuration, flags={}, limits=unknown)
    for ran, seats in ((16, 256), (600, 1024), (1500, 1500)):
        running = np.full_like(state.running_end, ran)
        seen = msgspec.structs.replace(state, running_end=running, limits=unknown, configuration=configuration)
        options, assumed = options_of(situation(diagnosis, seen))
        assert options.max_num_seqs == seats
        assert any("max_num_seqs" in text.en for text in assumed)


def test_settings_as_they_are_typed():
    assert setting("max_num_seqs=64") == ("--max-num-seqs", "64")
    assert setting("--enforce-eager") == ("--enforce-eager", "true")
    assert setting("enforce-eager=") == ("--enforce-eager", "")
    assert asked_of(("a=1", "b"), ("replicas=2",), "x1.5") == WhatIfAsked(
        {"--a": "1", "--b": "true"}, {"replicas": "2", "rate": "x1.5"}
    )


@pytest.mark.parametrize("wrong", ["replicas", "nothing=2", "replicas=0", "replicas=-1", "clients=two", "rate=nan"])
def test_what_cannot_be_assumed_is_named(wrong):
    with pytest.raises(UsageError):
        asked_of((), (wrong,))


@pytest.mark.parametrize("wrong", ["max-num-seqs", "max-num-seqs=", "=1,2"])
def test_what_is_no_sweep_is_named(wrong):
    with pytest.raises(UsageError):
        sweep_of(wrong)


def test_nothing_asked_is_an_error():
    with pytest.raises(UsageError, match="nothing was asked"):
        asked_of(())


def test_of_the_same_advice_what_recovers_more_comes_first_and_kept_cases_count(seq_cap):
    diagnosis, state = seq_cap
    most = diagnosis.remedies[0]
    less = msgspec.structs.replace(most, id="less", change={"--max-num-seqs": "32"})
    found = predict_remedies(msgspec.structs.replace(diagnosis, remedies=(less, most)), state)
    assert [remedy.id for remedy in found] == [most.id, "less"]
    sure = {cause.id: cause.probability for cause in diagnosis.causes}
    assert worth(found[0], sure) > worth(found[1], sure) > 0
    failed = msgspec.structs.replace(most, tried=Tried(0, 20))
    found = predict_remedies(msgspec.structs.replace(diagnosis, remedies=(failed, less)), state)
    assert [remedy.id for remedy in found] == ["less", most.id]
    assert worth(most, sure) == 0.0  # nothing was predicted of it
