from __future__ import annotations

import json

import msgspec
import pytest

import findings
from whystall.model.diagnosis import SimilarCase, Tried
from whystall.model.text import Text
from whystall.reports import render
from whystall.reports.similar import similar_line, tried_text

FP8 = {"remedy": "kv_capacity.fp8", "remedy_text": Text("Store the KV cache in FP8.", "以 FP8 存储 KV 缓存")}


def like(id: int, outcome: str = "kept", **fields: object) -> SimilarCase:
    values = {
        "score": 0.92,
        "because": Text("same", "相同"),
        "opened": findings.START,
        "headline": Text("full", "已满"),
    }
    return SimilarCase(id=id, outcome=outcome, **{**values, **FP8, **fields})


def test_the_sentence_names_the_cases_and_what_helped():
    both = (like(12), like(31))
    assert similar_line(both, "en") == "As case 12, 31; Store the KV cache in FP8: helped 2 of 2"
    assert similar_line(both, "zh") == "与案例 12、31 相似；以 FP8 存储 KV 缓存：2 次中 2 次有效"
    assert similar_line((like(12), like(31, "rolled_back")), "en").endswith("helped 1 of 2")


def test_what_was_not_tried_or_is_an_example_helped_nobody():
    assert similar_line((like(3, "open"), like(4, example=True)), "en") == "As case 3, 4"
    assert similar_line((), "en") == ""


def test_how_a_remedy_fared():
    assert tried_text(Tried(2, 3, (1, 4, 9)), "en") == "helped 2 of 3 (case 1, 4, 9)"
    assert tried_text(None, "en") == ""


@pytest.mark.parametrize("format", ["text", "markdown", "html", "github"])
@pytest.mark.parametrize("lang", ["en", "zh"])
def test_every_report_shows_them(format, lang):
    finding = findings.bottleneck()
    remedy = msgspec.structs.replace(finding.diagnosis.remedies[0], tried=Tried(2, 2, (12, 31)))
    diagnosis = msgspec.structs.replace(finding.diagnosis, similar=(like(12), like(31)), remedies=(remedy,))
    text = render(msgspec.structs.replace(finding, diagnosis=diagnosis), format, lang, 200)
    assert similar_line(diagnosis.similar, lang) in text
    assert tried_text(remedy.tried, lang) in text


def test_the_json_has_them():
    finding = findings.bottleneck()
    diagnosis = msgspec.structs.replace(finding.diagnosis, similar=(like(12),))
    body = json.loads(render(msgspec.structs.replace(finding, diagnosis=diagnosis), "json"))
    assert body["similar"][0]["id"] == 12
    assert body["similar"][0]["because"] == "same"
