"""A what-if in words, in both languages."""

import pytest

from whystall.errors import UsageError
from whystall.model.prediction import (
    BindsNext,
    Interval,
    NotPredicted,
    PredictedMetric,
    Prediction,
    ProfileUsed,
    Range,
    WhatIf,
)
from whystall.model.text import Text
from whystall.reports.whatif import render_whatif
from whystall.reports.whatif_phrases import WHATIF_PHRASES


def prediction(advice="recommend", change=None, assume=None):
    metrics = (
        PredictedMetric("ttft_p95", "s", 7.35, Interval(0.3, 0.5, 1.0), Range(-0.96, -0.93, -0.86)),
        PredictedMetric("kv_headroom", "ratio", 0.5, Interval(0.2, 0.3, 0.4)),
        PredictedMetric("goodput", "req/s", None, Interval(1, 2, 3), Range(2, 9, 20)),
    )
    return Prediction(
        change={"--max-num-seqs": "96"} if change is None else change,
        metrics=metrics,
        p_meets=0.9,
        p_harm=0.01,
        advice=advice,
        because=Text("it helps", "有效"),
        binds_next=BindsNext("kv_capacity", Text("KV blocks: 97% in use", "KV 块：97%")),
        profile=ProfileUsed("window", "fitted", 0.01, Text("fitted", "拟合")),
        draws=20,
        assume=assume or {},
        warnings=(Text("look | out", "注意"),),
        seconds=40.0,
    )


ONE = WhatIf("t", "0", "0.26.0", (prediction(),))


def test_the_answer_stands_in_the_first_lines():
    lines = render_whatif(ONE, "text", width=120).splitlines()
    assert lines[0] == "--max-num-seqs 96: recommended; it helps"
    assert lines[1] == "Then binds KV blocks: 97% in use"
    text = "\n".join(lines)
    assert "-93%" in text
    assert "-20 pp" in text
    assert "×10" in text
    assert "not seen" in text


def test_in_chinese_and_as_markdown():
    text = render_whatif(ONE, "markdown", "zh")
    assert text.startswith("# --max-num-seqs 96：建议；有效")
    assert "注意" in text
    assert "look \\| out" in render_whatif(ONE, "markdown")


def test_several_are_compared_and_the_best_comes_first():
    several = WhatIf(
        "t", "0", "", (prediction("no", {"--max-num-seqs": "8"}), prediction("canary", {"--enforce-eager": ""}))
    )
    text = render_whatif(several, "text", width=140)
    assert text.startswith("Best of 2: without --enforce-eager, on one replica only")
    assert "Changes compared" in text


def test_what_is_not_predicted_says_why():
    nothing = WhatIf("t", "0", "", (), (NotPredicted({"--x": "true"}, Text("no part", "无")),))
    text = render_whatif(nothing, "text")
    assert text.startswith("Nothing can be predicted: no part")
    assert "--x" in text


def test_what_is_no_flag_is_shown():
    assert render_whatif(WhatIf("t", "", "", (prediction(change={}, assume={"replicas": "2"}),)), "text").startswith(
        "replicas=2"
    )


def test_an_unknown_format_is_refused():
    with pytest.raises(UsageError):
        render_whatif(ONE, "html")


def test_every_phrase_is_there_in_both_languages():
    same = {key for key, text in WHATIF_PHRASES.items() if text.en == text.zh}
    assert same <= {"ttft_p95", "itl_p95"}
