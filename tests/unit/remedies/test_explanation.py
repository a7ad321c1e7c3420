import pytest

from whystall.errors import UsageError
from whystall.remedies.explanation import explain, words
from whystall.remedies.knobs import knobs
from whystall.reports.explanation import render_explanation


@pytest.mark.parametrize("word", ["max_num_seqs", "--max-num-seqs", "max-num-seqs"])
def test_a_flag_is_explained_however_it_is_written(word):
    found = explain(word)
    assert (found.kind, found.knob.id) == ("knob", "max_num_seqs")
    assert found.knob.treats["seat_cap"] == "raise"
    assert found.knob.flags[0].flag == "--max-num-seqs"


def test_causes_and_metrics_are_explained_as_before():
    assert explain("seat_cap").kind == "cause"
    assert explain("TTFT").kind == "metric"


def test_no_knob_hides_another_word():
    assert len(words()) == len(set(words()))


def test_a_removed_flag_says_so():
    found = explain("--swap-space").knob
    assert found.removed
    assert found.flags[0].until == "0.17.1"
    assert "removed, never advised" in render_explanation(explain("--swap-space"), "text")


def test_choices_say_since_when():
    assert explain("kv_cache_dtype").knob.legal.startswith("auto, fp8 (0.4.0+), ")


def test_an_unknown_flag_is_answered_with_the_nearest():
    with pytest.raises(UsageError) as caught:
        explain("--max-num-seq")
    assert "max_num_seqs" in caught.value.hint


@pytest.mark.parametrize("lang", ["en", "zh"])
@pytest.mark.parametrize("id", sorted(knobs()))
def test_every_knob_can_be_printed(id, lang):
    text = render_explanation(explain(id), "text", lang, 200)
    assert knobs()[id].spellings[0].flag in text
    assert knobs()[id].what.in_(lang)[:20] in text
    assert "None" not in text or any(default.value == "None" for default in knobs()[id].defaults)
