from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console

from whystall.reports.line import Line, breaks
from whystall.reports.text import printed


def lines(text, width):
    ends = [0, *breaks(text, width), len(text)]
    return [text[a:b] for a, b in pairwise(ends)]


def test_chinese_breaks_between_characters():
    assert lines("有排队的时间里 KV 块", 8) == ["有排队的", "时间里 ", "KV 块"]


def test_punctuation_does_not_begin_a_line():
    assert lines("一二三四，五六", 8) == ["一二三", "四，五六"]


def test_an_opening_bracket_does_not_end_a_line():
    assert lines("一二三（四五", 8) == ["一二三", "（四五"]


def test_a_word_of_latin_stays_whole_where_it_can():
    assert lines("提高 --max-num-seqs 上限", 16) == ["提高 ", "--max-num-seqs ", "上限"]
    assert lines("提高--max-num-batched-tokens", 10)[0] == "提高--max-"


@given(st.text(st.sampled_from("一二三，。 abcXYZ-（）"), max_size=60), st.integers(4, 30))
def test_nothing_is_lost_and_every_line_fits(text, width):
    parts = lines(text, width)
    assert "".join(parts) == text
    assert all(cell_len(part.rstrip()) <= width for part in parts)


def test_style_survives_a_break():
    shown = printed(Line.assemble(("一二三四五六", "bold"), "七八"), 40, True)
    assert "\x1b[1m一二三四五六\x1b[0m" in shown
    assert printed(Line("一二三四五六" * 10), 40, False).splitlines()[0] == "一二三四五六" * 3 + "一二"


def test_english_wraps_as_it_did():
    console = Console(width=20)
    assert [str(line).rstrip() for line in Line("one two three four five").wrap(console, 10)] == [
        "one two",
        "three four",
        "five",
    ]
