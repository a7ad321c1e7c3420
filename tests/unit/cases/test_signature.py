from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kept_cases import kv_diagnosis
from whystall.cases.signature import reason, signature_of, similarity
from whystall.model.case import Signature

IDS = st.sampled_from(["a", "b", "c", "d", "e"])
SIGNATURES = st.builds(
    Signature,
    st.dictionaries(IDS, st.floats(0.0, 1.0), max_size=3),
    st.dictionaries(IDS, st.floats(-1.5, 1.5), max_size=5),
)


@given(SIGNATURES, SIGNATURES)
def test_it_is_the_same_both_ways_and_between_0_and_1(a, b):
    there, back = similarity(a, b), similarity(b, a)
    assert there.score == pytest.approx(back.score, abs=1e-9)
    assert 0 <= there.score <= 1


@given(SIGNATURES)
def test_a_case_is_like_itself(a):
    speaks = any(p > 1e-3 for p in a.causes.values()) and any(abs(s) > 1e-3 for s in a.strengths.values())
    score = similarity(a, a).score
    assert score == pytest.approx(1.0) if speaks else 0 <= score <= 1


def test_the_same_symptoms_of_another_cause_are_no_likeness():
    a = signature_of(kv_diagnosis())
    b = msgspec.structs.replace(a, causes={"seat_cap": 0.93})
    assert similarity(a, b).score == 0


def test_a_signal_that_one_lacks_costs_only_what_it_said():
    a = Signature({"x": 1.0}, {"p": 1.5, "q": 1.5, "gpu": 0.1})
    b = Signature({"x": 1.0}, {"p": 1.5, "q": 1.5})
    c = Signature({"x": 1.0}, {"p": 1.5, "gpu": 0.1})
    assert similarity(a, b).score > 0.99
    assert similarity(a, c).score < similarity(a, b).score


def test_a_signal_that_speaks_the_other_way_counts_against():
    a = Signature({"x": 1.0}, {"p": 1.5, "q": 1.0})
    b = Signature({"x": 1.0}, {"p": 1.5, "q": -1.0})
    found = similarity(a, b)
    assert found.score < similarity(a, a).score
    assert (found.alike, found.unlike) == (("p",), ("q",))


def test_the_reason_names_what_is_alike_and_what_is_not():
    a = Signature({"x": 1.0}, {"p": 1.5, "q": 1.0})
    b = Signature({"x": 1.0}, {"p": 1.5, "q": -1.0})
    text = reason(similarity(a, b))
    assert text.en == "the same x; 1 of 2 signals speak alike (p); unlike in q"
    assert text.zh == "同为 x；2 个信号中有 1 个一致（p）；不同之处：q"


def test_strengths_beyond_the_scale_are_clipped_and_no_number_is_left_out():
    diagnosis = kv_diagnosis(strength=9.0)
    assert signature_of(diagnosis).strengths["kv.saturated"] == 1.5
    assert "kv.saturated" not in signature_of(kv_diagnosis(strength=float("nan"))).strengths
