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
        (1000, "1,000"),
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


@pytest.mark.parametrize(
    ("seconds", "en", "zh"),
    [
        (31.4, "31 s", "31 秒"),
        (0.068, "68 ms", "68 毫秒"),
        (17e-6, "17 µs", "17 微秒"),
        (119, "119 s", "119 秒"),
        (1170, "19.5 min", "19.5 分钟"),
        (30189, "8.39 h", "8.39 小时"),
        (1e6, "11.6 days", "11.6 天"),
        (0, "0 s", "0 秒"),
        (-300, "-5 min", "-5 分钟"),
    ],
)
def test_a_length_of_time_has_the_unit_that_a_person_would_use(seconds, en, zh):
    text = Text("{t:span}", "{t:span}").format(t=seconds)
    assert (text.en, text.zh) == (en, zh)


@pytest.mark.parametrize(
    ("count", "text"), [(1, "one line"), (1.0, "one line"), (2, "2 lines"), (0, "0 lines"), (30189, "30,189 lines")]
)
def test_one_is_worded_apart(count, text):
    assert Text("{n:one line|# lines}").format(n=count).en == text


def test_thousands_are_grouped_where_decimals_are_fixed():
    text = Text("{a:.0f} {b:+.1f} {c:.0%} {d}").format(a=30189.4, b=1234.5, c=12.5, d=8192)
    assert text.en == "30,189 +1,234.5 1250% 8192"
