from __future__ import annotations

import msgspec
import pytest

from kept_cases import FP8, START, closed_case, kv_diagnosis, open_case, proven_case
from whystall.cases.examples import example_cases
from whystall.model.case import CaseNote, Claim, plain
from whystall.model.text import Text
from whystall.reports.postmortem import postmortem
from whystall.reports.postmortem_text import POSTMORTEM_FORMATS, render_postmortem


def test_the_whys_are_numbered_with_their_numbers():
    page = postmortem(open_case(), "en")
    assert [(why.claim, [row.value for row in why.numbers]) for why in page.whys] == [
        ("TTFT is high because requests queue", ["12.8 s"]),
        ("They queue because no block is free", ["99%"]),
    ]


def test_a_step_that_did_not_hold_is_no_why():
    found = kv_diagnosis()
    first, *rest = found.causes[0].whys
    cause = msgspec.structs.replace(found.causes[0], whys=(msgspec.structs.replace(first, holds=False), *rest))
    case = closed_case(diagnosis=plain(msgspec.structs.replace(found, causes=(cause,))))
    assert [why.claim for why in postmortem(case, "en").whys] == ["They queue because no block is free"]


def test_before_and_after_stand_side_by_side():
    case = closed_case(after=plain(kv_diagnosis()))
    seen = postmortem(case, "en").seen
    assert seen is not None
    assert seen.columns == ("Figure", "During", "After")
    assert ("TTFT p95", "13.2 s", "13.2 s") in seen.rows


@pytest.mark.parametrize("format", POSTMORTEM_FORMATS)
@pytest.mark.parametrize("lang", ["en", "zh"])
def test_every_format_has_every_section(format, lang):
    claim = Claim(Text("halve the budget", "预算减半"), False, Text("it holds no memory", "它不占显存"))
    case = proven_case(claims=(claim,), notes=(CaseNote(START, "the new tenant"),))
    text = render_postmortem(case, format, lang)
    words = ("Five whys", "The proof", "Actions", "halve the budget", "the new tenant")
    chinese = ("五个为什么", "证明", "后续行动", "预算减半", "the new tenant")
    assert [word for word in (chinese if lang == "zh" else words) if word not in text] == []


@pytest.mark.parametrize("format", POSTMORTEM_FORMATS)
def test_what_a_case_holds_cannot_become_markup(format):
    attack = "<script>alert(1)</script>\x1b[31m[a](http://b) @team"
    case = closed_case(
        target=attack,
        headline=Text(attack),
        remedy=msgspec.structs.replace(FP8, text=Text(attack), change={attack: attack}),
        notes=(CaseNote(START, attack),),
        claims=(Claim(Text(attack), True, Text(attack)),),
    )
    text = render_postmortem(case, format)
    assert "\x1b" not in text
    if format != "text":
        outside_code = "".join(part for at, part in enumerate(text.split("`")) if at % 2 == 0)
        assert "<script>alert" not in outside_code
    if format == "markdown":
        assert "](http://b)" not in outside_code.replace("\\](http", "")


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_the_examples_say_what_is_right_and_wrong(lang):
    for case in example_cases():
        page = postmortem(case, lang)
        assert page.example
        assert page.claims is not None
        assert {row[1][0] for row in page.claims.rows} == {"✔", "✘"}
