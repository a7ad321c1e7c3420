"""Prometheus rules: figures are recorded, causes and symptoms alert. The file passes ``promtool check rules``."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from whystall.causes.catalogue import catalogue
from whystall.model.slo import Slo
from whystall.model.text import Text

from .conditions import CAUSES, WATCHED, Condition, Symptom, symptoms
from .figures import FIGURES, Queries, recorded
from .yaml_text import yaml_text

_HEAD = Text(
    "Made by `whystall export alerts` from the catalogue of causes; make it anew after an upgrade.",
    "由 `whystall export alerts` 根据原因目录生成；升级后请重新生成。",
)
_DIAGNOSE = Text(
    "To know more: whystall diagnose 'prometheus+http://PROMETHEUS?instance={{ $labels.instance }}' --for 10m",
    "进一步诊断：whystall diagnose 'prometheus+http://PROMETHEUS?instance={{ $labels.instance }}' --for 10m",
)
_FIRST = Text("Do first: {step}", "先做：{step}")


class RulesAsked(msgspec.Struct, frozen=True):
    """How the rules are to be: whose promises, what spelling of the metrics, where the pages of the causes are."""

    queries: Queries = Queries()
    slo: Slo | None = None
    docs: str = ""  # the address below which causes/ID/ lies; "" for none
    lang: str = "en"


def rules_file(asked: RulesAsked) -> str:
    """The whole file as YAML."""
    return yaml_text({"groups": rule_groups(asked)}, _HEAD.in_(asked.lang))


def rule_groups(asked: RulesAsked) -> list[dict[str, Any]]:
    """The groups of the file: records first, because alerts read them."""
    return [
        {"name": "whystall-figures", "rules": recording_rules(asked.queries)},
        {"name": "whystall-causes", "rules": [_cause_alert(one, asked) for one in CAUSES]},
        {"name": "whystall-symptoms", "rules": _symptom_alerts(symptoms(asked.slo), asked, _DIAGNOSE)},
        {"name": "whystall-watch", "rules": _symptom_alerts(WATCHED, asked, None)},
    ]


def recording_rules(queries: Queries) -> list[dict[str, Any]]:
    """One record for each figure, so that alerts need not know how a version spells it."""
    return [{"record": recorded(figure.id), "expr": figure.query(queries)} for figure in FIGURES.values()]


def alert_name(id: str) -> str:
    """``kv_capacity`` is ``WhystallKvCapacity``."""
    return "Whystall" + "".join(part.capitalize() for part in id.split("_"))


def _cause_alert(condition: Condition, asked: RulesAsked) -> dict[str, Any]:
    entry = catalogue()[condition.id]
    about = [entry.what, _FIRST.format(step=entry.first_step)]
    page = {"cause_page": f"causes/{entry.id}.md"}
    if asked.docs:
        page["runbook_url"] = f"{asked.docs.rstrip('/')}/causes/{entry.id}/"
    labels = {"severity": condition.severity, "kind": entry.role, "cause": entry.id}
    return _alert(condition, labels, entry.title, [*about, _DIAGNOSE], page, asked.lang)


def _symptom_alerts(those: Iterable[Symptom], asked: RulesAsked, advice: Text | None) -> list[dict[str, Any]]:
    return [
        _alert(
            one.condition,
            {"severity": one.condition.severity, "kind": "symptom" if advice else "watch"},
            _templated(one.title),
            [advice] if advice else [],
            {},
            asked.lang,
        )
        for one in those
    ]


def _templated(title: Text) -> Text:
    return title.format(cause="{{ $labels.cause }}")


def _alert(
    condition: Condition, labels: dict[str, str], title: Text, about: list[Text], more: dict[str, str], lang: str
) -> dict[str, Any]:
    value = f" ({condition.value})" if condition.value else ""
    who = " {{ with $labels.target }}{{ . }}{{ else }}{{ $labels.instance }}{{ end }}"
    annotations = {"summary": title.in_(lang) + value + " ·" + who}
    if about:
        annotations["description"] = "\n".join(text.in_(lang) for text in about)
    return {
        "alert": alert_name(condition.id),
        "expr": condition.query(),
        "for": condition.for_,
        "labels": labels,
        "annotations": annotations | more,
    }
