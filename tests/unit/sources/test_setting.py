"""Values as vLLM writes them."""

import pytest

from whystall.sources.setting import as_number


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("16384", 16384),
        ("16k", 16000),
        ("16K", 16384),
        ("1m", 1e6),
        ("934,048", 934048),
        ("0.92", 0.92),
        ("inf", None),
        ("x", None),
        ("", None),
    ],
)
def test_numbers_with_suffixes(text, value):
    assert as_number(text) == value
