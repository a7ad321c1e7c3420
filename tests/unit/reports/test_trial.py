import json

import jsonschema
import pytest

import trial_samples as trials
from whystall.errors import UsageError
from whystall.reports import FORMATS
from whystall.reports.schema import schema
from whystall.reports.trial import job_summary, render_trial, workflow_commands

VERDICTS = ("WIN", "HARM", "FUTILE", "INCONCLUSIVE")


@pytest.mark.parametrize("lang", ["en", "zh"])
@pytest.mark.parametrize("verdict", VERDICTS)
def test_json_keeps_to_its_schema(verdict, lang):
    body = json.loads(render_trial(trials.trial(verdict), "json", lang))
    jsonschema.validate(body, schema("trial"), cls=jsonschema.Draft202012Validator)
    assert body["verdict"] == verdict


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("verdict", VERDICTS)
def test_every_format_says_the_verdict_and_its_reason(format, verdict):
    text = render_trial(trials.trial(verdict), format, "en", width=120)
    assert verdict in text
    assert "mean E2E changed by -19.6" in text.replace("\\", "").replace("%25", "%")


def test_the_answer_is_the_first_three_lines():
    first, second, third = render_trial(trials.trial(), "text", "en", width=200).splitlines()[:3]
    assert first.startswith("WIN: ")
    assert second == (
        "B http://b:8000 --max-num-seqs 256 against A http://a:8000: 6 pairs of 10 s blocks, 2 min 40 s in all; "
        "load: 4 requests/s, 200-800 -> 100-300 tokens"
    )
    assert third == "Guards: 1 hold, 1 not shown (TTFT p95)"


def test_chinese_is_chinese():
    text = render_trial(trials.trial("HARM"), "text", "zh", width=100)
    assert text.startswith("有害 (HARM)：平均 E2E变化")
    assert "护栏指标：1 项成立" in text


@pytest.mark.parametrize(("verdict", "level"), [("WIN", "notice"), ("HARM", "error"), ("INCONCLUSIVE", "warning")])
def test_workflow_commands_are_escaped(verdict, level):
    first, second = workflow_commands(trials.trial(verdict)).splitlines()
    assert first.startswith(f"::{level} title=whystall trial::{verdict}: ")
    assert "%25" in first
    assert second.startswith("::warning title=whystall%3A client_lag::our requests")


def test_what_a_target_is_called_cannot_start_a_command_or_markup():
    hostile = trials.trial(target="x\n::error::gone <script>alert(1)</script> @team")
    for format in FORMATS:
        lines = render_trial(hostile, format, "en", width=200).splitlines()
        assert not any(line.startswith("::error::gone") for line in lines), format
    assert "<script>alert" not in render_trial(hostile, "html")
    assert "@team" not in job_summary(hostile)


def test_blocks_are_folded_in_a_job_summary():
    summary = job_summary(trials.trial())
    assert summary.index("<details>") > summary.index("## Guards")
    assert "| 1 | B |" in summary


def test_an_unknown_format_is_refused():
    with pytest.raises(UsageError, match="pdf"):
        render_trial(trials.trial(), "pdf")
