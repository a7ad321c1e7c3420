"""Each sentence of a diagnosis read by itself: no number that its own rounding made false, no empty reason."""

from __future__ import annotations

import re

import pytest

from conftest import recording_names
from recordings.transform import metrics_only
from whystall.pipeline import diagnose
from whystall.reports import render

NAMES = recording_names() or [pytest.param("", marks=pytest.mark.skip(reason="needs the shared recordings"))]
FALSE = re.compile(
    r"(?<![\d.])0(\.0+)? times|\+0 requests|-\d[\d.]* m?s\b|\b0 (µs|ms)|by: none|such line|0 preemptions|refused 0 "
)


@pytest.mark.parametrize("page_only", [False, True])
@pytest.mark.parametrize("name", NAMES)
def test_every_sentence_is_true_of_its_recording(name, page_only, recording):
    whole = recording(name)
    diagnosis = diagnose(metrics_only(whole) if page_only else whole).diagnosis
    for evidence in diagnosis.evidence:
        assert not FALSE.search(evidence.text.en), evidence.text.en
    seats = {e.id: e for e in diagnosis.evidence}
    if "queue.delay" in seats and "no scrape shows a queue" in seats["kv.saturated"].text.en:
        assert "; 0 waiting" in seats["queue.delay"].text.en


@pytest.mark.parametrize("lang", ["en", "zh"])
@pytest.mark.parametrize("name", NAMES)
def test_the_answer_stands_in_three_lines_of_80_columns(name, lang, recording):
    lines = render(diagnose(recording(name)), "text", lang, width=80).splitlines()
    assert lines[3] == ""
    assert lines[2].startswith("首先" if lang == "zh" else "Do first")
