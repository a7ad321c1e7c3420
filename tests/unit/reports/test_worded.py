from __future__ import annotations

from whystall.model.text import Text
from whystall.model.wording import Wording
from whystall.reports.worded import paragraphs, told_by


def test_paragraphs_are_made_safe_to_print():
    assert paragraphs(Wording("one\n\ntwo\x1b[0m\n\n \n")) == ("one", "two\\x1b[0m")
    assert paragraphs(None) == ()


def test_who_worded_it_or_why_not():
    assert told_by(Wording("x", "tiny", "h:1"), "en").startswith("Worded by tiny at h:1;")
    assert told_by(Wording("x", host="h:1", rejected=Text("it said 7")), "en").endswith("were not taken: it said 7")
    assert told_by(None, "zh") == ""
