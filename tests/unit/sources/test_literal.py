"""Configuration written out, taken apart without evaluating it."""

import time

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from started_servers import read
from whystall.sources.literal import items, numbers, settings


@pytest.mark.parametrize(
    ("text", "sign", "wanted"),
    [
        ("a='x, y', b=1, c=None", "=", {"a": "x, y", "b": "1"}),
        ("'a': 'it\\'s', 'b': [1, {2: 3}]", ":", {"a": "it\\'s", "b": "[1, {2: 3}]"}),
        ("a=Name(b='c', d=(1, 2))", "=", {"a": "Name(b='c', d=(1, 2))", "a.b": "c", "a.d": "(1, 2)"}),
        ("a={'b': <Mode.X: (2, 1)>}", "=", {"a": "{'b': <Mode.X: (2, 1)>}", "a.b": "<Mode.X: (2, 1)>"}),
        ('"a": {"b": null, "c": true}', ":", {"a": '{"b": null, "c": true}', "a.c": "true"}),
        ("a='cut short", "=", {"a": "'cut short"}),
        ("", "=", {}),
        ("nothing", "=", {}),
    ],
)
def test_written_settings(text, sign, wanted):
    assert settings(text, sign) == wanted


@given(st.text(alphabet="ab=:,'\"\\()[]{}<> \n", max_size=300))
def test_any_text_is_taken_apart(text):
    settings(text)
    settings(text, ":")
    assert "".join(items(text)).count("a") == text.count("a")


@pytest.mark.parametrize(
    "text", ["(" * 1_000_000, "'" * 1_000_000, "\\" * 1_000_000, "a=(" * 300_000, "a=A(b='" * 100_000, "," * 1_000_000]
)
def test_hostile_settings_cost_little(text):
    start = time.process_time()
    settings(text)
    read(server_info=msgspec.json.encode({"vllm_config": text}).decode(), log=["non-default args: {" + text])
    assert time.process_time() - start < 5.0  # CPU time; quadratic work would take minutes


def test_numbers_of_a_list():
    assert numbers("[1, 2.5, -3]") == [1, 2.5, -3]
    assert numbers("None") == []
