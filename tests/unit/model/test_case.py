from __future__ import annotations

import msgspec
import numpy as np
import pytest

from whystall.model.case import Case, CaseStep, Signature, both_languages, diagnosis_of, plain
from whystall.model.diagnosis import Cause, Diagnosis, Engine, Evidence, Window
from whystall.model.text import Text, decode_hook


def a_diagnosis() -> Diagnosis:
    return Diagnosis(
        target="http://a:8000",
        engine=Engine(version="0.26.0"),
        window=Window(start=100.0, end=130.0, seconds=30.0),
        verdict="bottleneck",
        headline=Text("the pool is full", "池已满"),
        causes=(Cause(id="kv_capacity", probability=0.9, role="limit", summary=Text("full", "满")),),
        evidence=(Evidence("kv.saturated", np.float64(0.99), "ratio", 1.5, Text("full", "满"), "metrics"),),
    )


def test_a_diagnosis_comes_back_in_both_languages():
    diagnosis = a_diagnosis()
    assert diagnosis_of(plain(diagnosis)) == diagnosis


def test_a_published_diagnosis_in_one_language_can_be_read():
    data = plain(a_diagnosis()) | {"headline": "the pool is full"}
    assert diagnosis_of(data).headline == Text("the pool is full")


def test_a_value_that_was_not_seen_is_null():
    seen = Evidence("kv.saturated", float("nan"), "ratio", 0.0, Text("not seen"), "metrics")
    assert plain(seen)["value"] is None


@pytest.mark.parametrize("headline", [{"en": "only one"}, {"en": 1, "zh": 2}, 7])
def test_what_is_no_text_is_refused(headline):
    with pytest.raises(msgspec.ValidationError):
        diagnosis_of(plain(a_diagnosis()) | {"headline": headline})


def test_a_case_survives_its_json():
    found = a_diagnosis()
    case = Case(
        target=found.target,
        engine=found.engine,
        opened=130.0,
        signature=Signature({"kv_capacity": 0.9}, {"kv.saturated": 1.5}),
        verdict=found.verdict,
        headline=found.headline,
        diagnosis=plain(found),
        steps=(CaseStep("began", 115.0, Text("since", "自")),),
    )
    body = msgspec.json.encode(case, enc_hook=both_languages)
    assert msgspec.json.decode(body, type=Case, dec_hook=decode_hook) == case
