"""The flow on input that no healthy server gives: an answer that holds what it says, or a refusal by name."""

import json
import re
import warnings
from functools import cache

import jsonschema
import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hostile
from cases.window import START
from whystall.causes.catalogue import catalogue
from whystall.causes.weighing import ANSWER
from whystall.errors import MixedServers, NotMetrics, TooLittleData, WhystallError
from whystall.model.recording import FailedScrape, InputWarning, SeriesKey, SeriesTable
from whystall.model.slo import Slo
from whystall.model.text import Text
from whystall.pipeline import compare, diagnose, replicas_of, states_of
from whystall.reports.json import JsonRenderer
from whystall.reports.schema import schema

SCHEMA = jsonschema.Draft202012Validator(schema("diagnosis"))
NOT_A_NUMBER = re.compile(r'"[^"]*\b(?:nan|inf)\b[^"]*"')
TIGHT = Slo.parse("ttft_p95=1ms,itl_p95=1ms,e2e_p95=1ms,errors=0")
LOOSE = Slo.parse("ttft_p95=1h,itl_p95=1h,e2e_p95=1h,errors=100%")
WINDOWS = {"calm": hostile.calm, "incident": hostile.incident}


@pytest.fixture(autouse=True)
def strict_arithmetic():
    """What numpy only warns of is an error here. Underflow to 0 is what is wanted of tiny likelihoods."""
    with np.errstate(all="raise", under="ignore"), warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def answer(recording, slo=None):
    """The diagnosis as the published object, checked; the name of the error where it was refused."""
    try:
        finding = diagnose(recording, slo)
    except WhystallError as error:
        return type(error).__name__ if error.hint else ""
    for lang in ("en", "zh"):
        text = JsonRenderer().render(finding, lang)
        assert "NaN" not in text
        assert "Infinity" not in text
        assert NOT_A_NUMBER.findall(text) == []
        body = json.loads(text)
        SCHEMA.validate(body)
    for one in body["engines"] or [body]:
        check(one)
    return body


def check(found):
    """What holds of every answer: it cites what it measured, and its parts do not contradict each other."""
    seconds, ids = found["window"]["seconds"], {one["id"] for one in found["evidence"]}
    for cause in found["causes"]:
        assert 0 <= cause["probability"] <= 1
        assert all(why["holds"] and set(why["evidence"]) <= ids for why in cause["whys"])
        assert {*cause["evidence_for"], *cause["evidence_against"]} <= ids
    onsets = [one["onset"] for one in (*found["causes"], *found["evidence"]) if one["onset"]]
    for onset in onsets:
        assert -1e-6 <= onset["low"] <= onset["seconds"] <= onset["high"] <= seconds + 1e-6
    named = [(cause["id"], cause["probability"]) for cause in found["causes"]]
    assert [p for _, p in named] == sorted((p for _, p in named), reverse=True)
    if found["verdict"] == "bottleneck":
        assert named[0][1] >= ANSWER
        assert found["remedies"]
        assert not any(catalogue()[name].explains_idle for name, _ in named)
    else:
        assert found["remedies"] == []
    if found["verdict"] == "healthy":
        assert all(catalogue()[name].explains_idle for name, _ in named)
    assert {name for name, _ in named}.isdisjoint(one["id"] for one in found["ruled_out"])


@cache
def changed(change, window):
    """The answer to a hostile recording, found once for all the tests that look at it."""
    return answer(hostile.CHANGES[change](WINDOWS[window]()))


@pytest.mark.parametrize("window", WINDOWS)
@pytest.mark.parametrize("change", hostile.CHANGES)
def test_hostile_input_gets_an_answer(change, window):
    assert changed(change, window)


# What does not touch the pool, the queue or the names that we know must not change what is found.
HARMLESS = {
    "nothing",
    "restart, told",
    "labels of braces",
    "three engines",
    "V0",
    "Ray",
    "old names beside new",
    "10,000 series",
    "no buckets",
    "no +Inf bucket",
    "bad bounds",
    "client empty",
    "GPU NaN",
    "GPU bits not seen",
    "GPU elsewhere",
    "host NaN",
    "host sparse",
    "host without cores",
    "host elsewhere",
    "scrapes far apart",
}


@pytest.mark.parametrize("change", sorted(HARMLESS))
def test_what_does_not_matter_changes_no_answer(change):
    found = changed(change, "incident")
    assert (found["verdict"], found["causes"][0]["id"]) == ("bottleneck", "kv_capacity")
    assert changed(change, "calm")["verdict"] == "healthy"


# Where next to nothing was seen there is nothing to call healthy.
BLIND = {
    "all NaN",
    "every other NaN",
    "counters NaN",
    "counters infinite",
    "counters huge",
    "counters negative",
    "gauges huge",
    "gauges infinite",
    "gauges negative",
    "running NaN",
    "running alone",
    "gauges alone",
    "one scrape",
    "two scrapes",
    "all at one moment",
}


@pytest.mark.parametrize("window", WINDOWS)
@pytest.mark.parametrize("change", sorted(BLIND))
def test_what_was_not_seen_is_not_healthy(change, window):
    found = changed(change, window)
    assert found["verdict"] == "unknown"
    assert "太少" in found["headline"]


@pytest.mark.parametrize("change", ["NaN for most of the time", "counters become infinite"])
def test_half_a_window_is_no_proof_of_health(change):
    assert changed(change, "incident")["verdict"] == "unknown"
    assert "可读" in changed(change, "incident")["headline"]


@settings(max_examples=40)
@given(st.integers(0, 2**32), st.sampled_from(sorted(WINDOWS)), st.sampled_from([None, TIGHT, LOOSE]))
def test_any_corruption_gets_an_answer(seed, window, slo):
    with np.errstate(all="raise", under="ignore"), warnings.catch_warnings():
        warnings.simplefilter("error")
        assert answer(hostile.corrupted(WINDOWS[window](), seed), slo)


@pytest.mark.parametrize("window", WINDOWS)
def test_a_promise_that_cannot_be_kept_or_broken(window):
    assert answer(WINDOWS[window](), LOOSE)["verdict"] == "healthy"
    assert answer(WINDOWS[window](), TIGHT)["verdict"] != "healthy"


def test_a_restart_is_named_and_no_rate_is_taken_across_it():
    recording = hostile.restarted(hostile.calm(), told=True)
    diagnosis = diagnose(recording).diagnosis
    assert [w.id for w in diagnosis.warnings] == ["restart"]
    (state,) = states_of(recording)
    assert "20" in diagnosis.warnings[0].text.en
    assert (~state.valid).sum() == 1
    assert np.nanmax(state.generation_tokens / state.dt) == pytest.approx(10 / 0.015)


def test_failed_scrapes_and_unknown_names_are_named():
    recording = hostile.with_many_series(hostile.calm(), 3)
    recording = hostile.with_table(recording, failed=(FailedScrape(START + 3.5, "TimeoutError"),))
    recording = msgspec.structs.replace(recording, warnings=(InputWarning("truncated_gzip", Text("cut", "截断")),))
    warned = {notice.id: notice.text for notice in diagnose(recording).diagnosis.warnings}
    assert set(warned) == {"truncated_gzip", "failed_scrapes", "unknown_metrics"}
    assert "vllm:not_yet_known_total" in warned["unknown_metrics"].en
    assert all(text.zh != text.en for text in warned.values())


def test_what_the_reader_said_of_failed_scrapes_is_not_said_twice():
    recording = hostile.with_table(hostile.calm(), failed=(FailedScrape(START + 3.5, "TimeoutError"),))
    told = InputWarning("failed_scrapes", Text("1 of 9 scrapes failed", "9 次抓取中有 1 次失败"))
    recording = msgspec.structs.replace(recording, warnings=(told,))
    assert [notice.text for notice in diagnose(recording).diagnosis.warnings] == [told.text]


def test_several_engines_are_diagnosed_each_and_the_worst_stands_outside():
    calm, full = hostile.several_engines(hostile.window(hostile.CALM, hostile.CALM), 3), hostile.incident()
    rows = [row for row, key in enumerate(calm.metrics.keys) if key.label("engine") == "1"]
    index = {key.name + key.label("le"): row for row, key in enumerate(full.metrics.keys)}
    values = calm.metrics.values.copy()
    for row in rows:
        key = calm.metrics.keys[row]
        values[row] = full.metrics.values[index[key.name + key.label("le")]]
    finding = diagnose(hostile.with_table(calm, values=values))
    assert [one.engine.id for one in finding.diagnosis.engines] == ["0", "1", "2"]
    assert [one.verdict for one in finding.diagnosis.engines] == ["healthy", "bottleneck", "healthy"]
    assert finding.diagnosis.engine.id == "1"
    assert [one.diagnosis.engine.id for one in finding.engines] == ["0", "1", "2"]
    assert finding.timeline is finding.engines[1].timeline


def test_another_programs_page_is_refused():
    other = hostile.only(hostile.calm(), lambda key: key.name == "process_cpu_seconds_total")
    with pytest.raises(NotMetrics) as caught:
        diagnose(other)
    assert caught.value.hint


def test_no_page_at_all_is_too_little():
    failed = (FailedScrape(START, "ConnectionRefusedError"),)
    empty = msgspec.structs.replace(hostile.calm(), metrics=msgspec.structs.replace(SeriesTable.empty(), failed=failed))
    with pytest.raises(TooLittleData, match="ConnectionRefusedError"):
        diagnose(empty)


def test_pages_of_two_servers_in_turn_are_refused():
    table = hostile.calm().metrics
    started = np.where(np.arange(len(table.times)) % 2, START - 50, START - 900)
    keys = (*table.keys, SeriesKey("process_start_time_seconds"))
    with pytest.raises(MixedServers):
        diagnose(hostile.with_table(hostile.calm(), keys=keys, values=np.vstack([table.values, started])))


def test_one_counter_that_falls_is_no_second_server():
    """Without a start time the counters tell; one alone may be a gauge with a counter's name."""
    recording = hostile.with_values(
        hostile.calm(), ("vllm:num_preemptions",), lambda row: row[::-1] + np.arange(41) % 2
    )
    assert answer(recording)["verdict"] == "healthy"


def test_what_differs_between_two_recordings():
    found = compare(hostile.calm(), hostile.incident())
    assert found.figures


def test_the_answer_does_not_depend_on_the_order_of_the_series():
    recording = hostile.incident()
    table, order = recording.metrics, np.random.default_rng(3).permutation(len(recording.metrics.keys))
    mixed = hostile.with_table(recording, keys=tuple(table.keys[i] for i in order), values=table.values[order])
    assert answer(mixed) == answer(recording)


def test_servers_that_stand_beside_each_other_are_replicas_and_one_that_tells_nothing_is_none() -> None:
    calm, busy = hostile.window(hostile.CALM, hostile.CALM), hostile.window(hostile.FULL, hostile.FULL)
    empty = msgspec.structs.replace(calm, metrics=SeriesTable.empty())
    groups = {"a": "k8s://x/y", "b": "k8s://x/y", "c": "k8s://x/y", "d": "", "e": "k8s://x/z"}
    found = replicas_of(groups, {"a": calm, "b": busy, "c": empty, "d": calm, "e": calm})
    told = {name: [one.id for one in ones] for name, ones in found.items()}
    assert told == {"a": ["b 0"], "b": ["a 0"], "c": ["a 0", "b 0"], "d": [], "e": []}
