from __future__ import annotations

import json

import jsonschema
import pytest

from kept_cases import closed_case, kv_diagnosis, open_case
from whystall.cases.book import Book
from whystall.cases.exchange import exported
from whystall.cases.signature import signature_of
from whystall.cases.similar import similar_cases
from whystall.cases.success import success
from whystall.errors import UsageError
from whystall.model.case import CaseList, SimilarCases
from whystall.reports.cases import case_json, render_cases, render_similar
from whystall.reports.schema import schema


def listed() -> CaseList:
    with Book.empty() as book:
        book.add(open_case())
        book.add(closed_case())
        return CaseList("cases.sqlite", tuple(book.summaries()), success(book.summaries()))


@pytest.mark.parametrize("format", ["text", "markdown"])
def test_the_list_says_what_came_of_each_and_what_helped(format):
    text = render_cases(listed(), format, width=100)
    assert "Cases in cases.sqlite: 2" in text
    assert "kept: it helped" in text
    assert "1 of 1" in text


def test_an_empty_store_says_so():
    assert render_cases(CaseList("x", (), {}), "text").strip() == "No case is kept in x"
    assert render_cases(CaseList("x", (), {}), "text", "zh").strip() == "x 中没有案例"


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_what_is_printed_keeps_to_its_schema(lang):
    found = listed()
    alike = SimilarCases(9, similar_cases(signature_of(kv_diagnosis()), found.cases))
    printed = {
        "cases": render_cases(found, "json", lang),
        "similar": render_similar(alike, "json", lang),
        "case": case_json(closed_case(id=2, uid="0" * 32), lang),
        "case_export": exported([closed_case(id=2, uid="0" * 32)]),
    }
    for name, text in printed.items():
        jsonschema.validate(json.loads(text), schema(name), cls=jsonschema.Draft202012Validator)


def test_the_diagnosis_inside_a_case_is_a_published_one():
    body = json.loads(case_json(open_case(), "zh"))
    jsonschema.validate(body["diagnosis"], schema("diagnosis"), cls=jsonschema.Draft202012Validator)
    assert body["diagnosis"]["headline"] == "KV 块耗尽"


def test_no_case_is_alike():
    assert "No kept case is like case 3" in render_similar(SimilarCases(3, ()), "text")


def test_an_unknown_format_is_refused_by_name():
    with pytest.raises(UsageError, match="pdf"):
        render_cases(listed(), "pdf")
