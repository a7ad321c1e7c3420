"""Every word exists in both languages, every word asked for exists, and none is kept that nobody asks for."""

import ast
import re
from pathlib import Path
from string import Formatter

import pytest

import whystall.reports
from whystall.reports.phrases import PHRASES, say

REPORTS = Path(whystall.reports.__file__).parent
# The same in both languages: names of the field, and units.
SAME = {
    "noted",
    "group_gpu",
    "side_a",
    "side_b",
    "times",
    "signal_metrics",
    "signal_gpu",
    "limit_value",
    "ttft_p95_s",
    "itl_p95_s",
    "unit_tokens_per_s",
    "part_graphs",
    "knob_moves_ttft",
    "knob_moves_itl",
    "knob_moves_cpu",
}
# Asked for by a key made at run time: prefix of the key -> where the rest comes from.
MADE = re.compile(
    r"^(role|signal|part|law|unit|strongly|chart|verdict|group|kind|judged|knob|outcome|step|guard|claim|cohort|holder|who|lag|from)_"
)


def _fields(text):
    return {name for _, name, _, _ in Formatter().parse(text) if name}


def _asked():
    keys = set()
    for path in REPORTS.rglob("*.py"):
        if not path.name.endswith("phrases.py"):
            tree = ast.parse(path.read_text("utf-8"))
            keys |= {
                node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)
            }
    for path in REPORTS.rglob("*.j2"):
        keys |= set(re.findall(r"""["'](\w+)["']""", path.read_text("utf-8")))
    return keys


@pytest.mark.parametrize("key", sorted(PHRASES))
def test_both_languages_say_it(key):
    phrase = PHRASES[key]
    assert phrase.en.strip()
    assert key in SAME or re.search("[一-鿿：。、]", phrase.zh), f"{key} has no Chinese"
    assert not re.search("[一-鿿]", phrase.en)
    assert _fields(phrase.en) == _fields(phrase.zh)


@pytest.mark.parametrize("key", sorted(PHRASES))
def test_every_phrase_is_used(key):
    literals = {"healthy", "bottleneck", "unknown", "reported", "default", "inferred"}  # from the model's own words
    assert key in _asked() | literals or MADE.match(key)


def test_every_key_asked_for_exists():
    asked = set()
    for path in REPORTS.rglob("*.py"):
        asked |= set(re.findall(r"""\bsay\(\s*"(\w+)",""", path.read_text("utf-8")))
    for path in REPORTS.rglob("*.j2"):
        asked |= set(re.findall(r"""\bsay\(["'](\w+)["']""", path.read_text("utf-8")))
    assert asked
    assert asked <= set(PHRASES)


def test_an_unknown_key_is_our_fault_and_loud():
    with pytest.raises(KeyError):
        say("no such phrase", "en")
