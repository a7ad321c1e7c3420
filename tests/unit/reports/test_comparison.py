import json

import jsonschema
import msgspec
import pytest
from rich.cells import cell_len

from comparisons import FIGURES, ONE, SAME, A, B
from whystall.errors import UsageError
from whystall.model.comparison import Comparison, SettingChange
from whystall.model.diagnosis import Engine
from whystall.reports.comparison import COMPARISON_FORMATS, render_comparison
from whystall.reports.schema import schema


def test_the_answer_stands_in_the_first_three_lines():
    first, second, third = render_comparison(ONE, "text", width=200).splitlines()[:3]
    assert first == "Most changed: TTFT, mean, 45 ms in A, 9.8 s in B (218×)"
    assert second == "First to leave A's range: waiting at 16 s of B; then TTFT, mean at 20 s of B"
    assert third == "Settings that differ: num_gpu_blocks 58348 → 2500, max_model_len not set or not seen → 16384"


def test_nothing_differs_is_said_too():
    lines = render_comparison(SAME, "text", width=200).splitlines()[:3]
    assert lines[0].startswith("No figure that users feel differs")
    assert lines[1] == "Nothing left the range that it had in A"
    assert lines[2].startswith("No setting differs")


def test_every_judgement_has_its_word():
    text = render_comparison(ONE, "text", width=100)
    for word in ("= alike", "≠ differs", "▼ worse", "▲ better", "– in one only", ">1,000×", "not seen"):
        assert word in text


@pytest.mark.parametrize("lang", ["en", "zh"])
@pytest.mark.parametrize("format", COMPARISON_FORMATS)
def test_it_renders_in_every_format_and_language(format, lang):
    text = render_comparison(ONE, format, lang)
    assert FIGURES[2].label.in_(lang) in text.replace("\\", "")


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_json_keeps_to_its_schema_and_says_the_headline(lang):
    body = json.loads(render_comparison(msgspec.structs.replace(ONE, engines=(ONE, SAME)), "json", lang))
    jsonschema.validate(body, schema("comparison"))
    assert body["schema"] == "whystall.comparison/1"
    assert "9.8 s" in body["headline"]
    assert body["engines"][1]["headline"]


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_it_fits_80_columns(lang):
    assert max(cell_len(line) for line in render_comparison(ONE, "text", lang).splitlines()) <= 80


def test_other_engines_follow():
    other = msgspec.structs.replace(
        SAME, a=msgspec.structs.replace(A, engine=Engine(id="1")), b=msgspec.structs.replace(B, engine=Engine(id="1"))
    )
    text = render_comparison(msgspec.structs.replace(ONE, engines=(ONE, other)), "text")
    assert text.count("Engine 1 against 1") == 1
    assert "Engine 0 against 0" not in text


def test_hostile_names_are_neutralised():
    evil = msgspec.structs.replace(A, target="\x1b[2J<script>|`", engine=Engine(model="\x1b[31m<b>"))
    comparison = Comparison(evil, evil, (SettingChange("\x1b[1m", "flag", "<i>", "\x07"),), (), ())
    assert "\x1b" not in render_comparison(comparison, "text")
    assert "\\<script\\>" in render_comparison(comparison, "markdown")


def test_an_unknown_format_is_refused():
    with pytest.raises(UsageError, match="html"):
        render_comparison(ONE, "html")
