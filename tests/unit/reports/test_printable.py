import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whystall.reports.printable import LONGEST, clean


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain 中文", "plain 中文"),
        ("\x1b[31mred", "\\x1b[31mred"),
        ("a\nb\tc", "a b c"),
        ("evil\u202etxt", "evil\\u202etxt"),
        ("\x9b2J", "\\x9b2J"),
        ("\ud800", "\\ud800"),
    ],
)
def test_hostile_characters_become_visible(text, shown):
    assert clean(text) == shown


def test_long_text_is_cut():
    assert len(clean("x" * 10 * LONGEST)) == LONGEST


@given(st.text())
def test_nothing_that_controls_a_terminal_is_left(text):
    assert not [char for char in clean(text) if unicodedata.category(char) in ("Cc", "Cs", "Zl", "Zp")]
    assert clean(clean(text)) == clean(text)
