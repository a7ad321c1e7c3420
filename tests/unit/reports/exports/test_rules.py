"""The rules are of the catalogue: its causes, titles and levels, and spellings of the dialects."""

import re

import pytest
import yaml

from whystall.causes.catalogue import catalogue
from whystall.model.slo import Slo
from whystall.reports.exports.conditions import CAUSES, Condition
from whystall.reports.exports.figures import FIGURES, Queries, recorded
from whystall.reports.exports.rules import RulesAsked, alert_name, rules_file
from whystall.sources.dialects import quantity


def rules(**asked: object) -> dict[str, dict]:
    groups = yaml.safe_load(rules_file(RulesAsked(**asked)))["groups"]  # type: ignore[arg-type]
    return {rule.get("alert") or rule["record"]: rule for group in groups for rule in group["rules"]}


def test_every_condition_is_of_a_cause_of_the_catalogue():
    assert {condition.id for condition in CAUSES} <= set(catalogue())
    assert len({condition.id for condition in CAUSES}) == len(CAUSES)


@pytest.mark.parametrize("condition", CAUSES, ids=lambda condition: condition.id)
def test_an_alert_says_what_when_and_what_to_do(condition: Condition):
    alert, entry = rules(docs="https://docs.example/w/")[alert_name(condition.id)], catalogue()[condition.id]
    assert alert["annotations"]["summary"].startswith(entry.title.en)
    assert entry.first_step.en in alert["annotations"]["description"]
    assert alert["annotations"]["runbook_url"] == f"https://docs.example/w/causes/{entry.id}/"
    assert alert["annotations"]["cause_page"] == f"causes/{entry.id}.md"
    assert alert["labels"] == {"severity": condition.severity, "kind": entry.role, "cause": entry.id}
    assert alert["for"] == condition.for_


def test_alerts_read_only_what_is_recorded():
    made = rules()
    read = {name for rule in made.values() for name in re.findall(r"whystall:\w+", rule["expr"])}
    assert read <= {recorded(id) for id in FIGURES}


@pytest.mark.parametrize("style", ["vllm", "ray"])
def test_every_metric_of_a_record_is_one_that_the_dialects_know(style: str):
    for figure in FIGURES.values():
        query = re.sub(r"sum without \([^)]*\)", "", figure.query(Queries(style)))  # type: ignore[arg-type]
        names = set(re.findall(r"[a-z][\w:]*_[\w:]+", re.sub(r"\{[^}]*\}", "", query))) - {"histogram_quantile"}
        assert names
        assert [name for name in names if quantity(name) is None] == []


def test_an_unknown_figure_or_level_is_no_rule():
    with pytest.raises(KeyError):
        Condition("x", "@no_such > 1", "1m", "info").query()
    with pytest.raises(KeyError):
        Condition("x", "@running > #no_such", "1m", "info").query()


def test_symptoms_stand_at_the_promise():
    made = rules(slo=Slo.parse("ttft_p95=1500ms,errors=0.1%"))
    assert made["WhystallSlowFirstToken"]["expr"] == "whystall:ttft_p95_s > 1.5"
    assert made["WhystallErrors"]["expr"] == "whystall:errors_ratio > 0.001"
    assert "WhystallSlowTokens" not in made  # was not promised


def test_the_window_and_the_language_are_asked_for():
    made = rules(queries=Queries(window="4m"), lang="zh")
    assert "[4m]" in made["whystall:itl_mean_s"]["expr"]
    assert made["WhystallSeatCap"]["annotations"]["summary"].startswith("席位已满")
