"""YAML that a person reads and every reader takes back."""

import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from whystall.reports.exports.yaml_text import yaml_documents, yaml_text

PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=12,
)


@given(PLAIN)
@example({"\x85": "a\x85b"})
@example(["a\n\x85b", "\u2028\n"])
def test_what_is_written_is_read_back(document):
    assert yaml.safe_load(yaml_text(document, "a comment")) == document


def test_alike_parts_are_no_anchors_and_long_texts_are_blocks():
    part = {"a": [1]}
    text = yaml_text({"one": part, "two": part, "long": "first\nsecond"}, "made by hand")
    assert text.startswith("# made by hand\n")
    assert "&" not in text
    assert "long: |" in text


def test_several_documents_are_one_file():
    assert list(yaml.safe_load_all(yaml_documents([{"a": 1}, {"b": 2}], "two"))) == [{"a": 1}, {"b": 2}]
