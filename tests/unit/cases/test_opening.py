from __future__ import annotations

import msgspec

from kept_cases import FP8, START, kv_diagnosis
from whystall.cases.opening import case_of
from whystall.model.case import diagnosis_of


def test_a_bottleneck_is_an_open_case_with_the_advice_that_came_first():
    case = case_of(kv_diagnosis(), START + 60)
    assert (case.outcome, case.closed, case.remedy) == ("open", None, FP8)
    assert [(step.id, step.at - START) for step in case.steps] == [
        ("seen", 0),
        ("began", 15),
        ("diagnosed", 60),
        ("chosen", 60),
    ]
    assert case.steps[2].text.zh == "存在瓶颈：KV 块耗尽"
    assert case.steps[1].text == kv_diagnosis().causes[0].summary  # said in words: an id is no sentence


def test_a_healthy_server_is_a_closed_case():
    case = case_of(kv_diagnosis(verdict="healthy"), START)
    assert (case.outcome, case.closed, case.remedy) == ("not_changed", START, None)


def test_similar_cases_are_not_kept_with_it():
    outer = msgspec.structs.replace(kv_diagnosis(), engines=(kv_diagnosis(), kv_diagnosis()))
    assert diagnosis_of(case_of(outer, START).diagnosis) == kv_diagnosis()


def test_a_window_is_one_case_and_each_run_of_the_loop_its_own():
    first, again = (case_of(kv_diagnosis(), START) for _ in range(2))
    assert first.uid == again.uid
    assert len(first.uid) == 32
    assert case_of(kv_diagnosis(), START, "fix").uid == ""


def test_the_steps_are_on_the_reader_s_clock_and_the_loop_writes_its_own():
    case = case_of(kv_diagnosis(), 7_000.0, "fix")
    assert [(step.id, step.at) for step in case.steps] == [("seen", 6_940.0), ("began", 6_955.0)]
