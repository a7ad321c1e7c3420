from __future__ import annotations

import pytest

from whystall.model.text import Text


def test_a_text_inside_a_text_is_put_in_by_language():
    inner = Text("wait", "等待")
    outer = Text("they {what}", "它们{what}").format(what=inner)
    assert (outer.en, outer.zh) == ("they wait", "它们等待")


def test_without_chinese_the_english_stands_for_both():
    assert Text("max_num_seqs").in_("zh") == "max_num_seqs"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (106.5, "106"),
        (0.31, "0.31"),
        (1.4e-5, "0"),
        (12.34, "12"),
        (1000, "1000"),
        (0, "0"),
        (-0.009, "-0.009"),
        (1.0, "1"),
    ],
)
def test_two_digits_never_in_an_exponent(value, text):
    assert Text("{x:~2}").format(x=value).en == text


def test_a_sign_before_the_digits():
    assert Text("{x:+~2}", "{x:+~2}").format(x=0.75).zh == "+0.75"


def test_plain_specifications_still_work():
    assert Text("{share:.0%} of {n:.0f}").format(share=0.5, n=16.2).en == "50% of 16"
