"""One line of a metrics page, read strictly."""

import pytest

from whystall.model.recording import SeriesKey
from whystall.sources.sample_line import BadLine, key_end, read_key, read_value, unescape, value_after_key


@pytest.mark.parametrize(
    ("text", "name", "labels"),
    [
        ("a", "a", ()),
        ("vllm:a_total", "vllm:a_total", ()),
        ('a{b="1"}', "a", (("b", "1"),)),
        ('a{c="2",b="1"}', "a", (("b", "1"), ("c", "2"))),
        ('a{b="x, y {z}"}', "a", (("b", "x, y {z}"),)),
        ('a{b=""}', "a", (("b", ""),)),
        ("a{}", "a", ()),
        ('a{b="1",}', "a", (("b", "1"),)),
        (r'a{b="\"q\" \\ \n \t"}', "a", (("b", '"q" \\ \n \\t'),)),
        (r'a{b="ends\\",c="1"}', "a", (("b", "ends\\"), ("c", "1"))),
        ('a{ b = "1" , c="2" }', "a", (("b", "1"), ("c", "2"))),
        ('a {b="1"}', "a", (("b", "1"),)),
        ('{"a.b",c="1"}', "a.b", (("c", "1"),)),
        ('{"a"}', "a", ()),
        ('a{"b c"="1"}', "a", (("b c", "1"),)),
    ],
)
def test_whole_keys(text, name, labels):
    assert read_key(text) == SeriesKey(name, labels)
    assert key_end(text + " 1") == (SeriesKey(name, labels), len(text))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "1a",
        "a b",
        "a{",
        'a{b="1"',
        'a{b="1"}c',
        "a{b=1}",
        'a{b="1" c="2"}',
        'a{b="1",b="2"}',
        'a{="1"}',
        'a{,,b="1"}',
        "a}",
        "{}",
    ],
)
def test_what_is_no_key(text):
    assert read_key(text) is None


def test_a_shape_that_was_learnt_does_not_hide_another():
    assert read_key('a{b="1",c="2"}') == SeriesKey("a", (("b", "1"), ("c", "2")))
    assert read_key('a{b="3",c="4"}') == SeriesKey("a", (("b", "3"), ("c", "4")))
    assert read_key('a{b="3",c="4"x') is None
    assert read_key('a{b="3"}{c="4"}') is None
    assert read_key("a") == SeriesKey("a")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1", 1),
        (" 2.5", 2.5),
        ("1 1796000000", 1),
        ("1 -5", 1),
        ('3 # {t="x"} 0.5', 3),
        ('3 17.5 # {t="a b"} 1 2', 3),
        ("+Inf", float("inf")),
        ("1\r", 1),
    ],
)
def test_values_with_what_follows(text, value):
    assert value_after_key(text) == value


@pytest.mark.parametrize("text", ["", "x", "1 x", "1 2 3", "1_000", "0x10", "# 1"])
def test_what_is_no_value(text):
    with pytest.raises(BadLine):
        value_after_key(text)


def test_numbers():
    assert read_value("1e3") == 1000
    assert unescape(r"a\\nb\n") == "a\\nb\n"
