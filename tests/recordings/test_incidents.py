"""The public incidents, as ``benchmarks/accuracy/incidents.py`` asks and judges them, against an honest floor."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
# A floor, not a goal: the last line of benchmarks/results/incidents.jsonl says what is reached.
LEAST_SHARE = 0.62
LEAST_ENOUGH = 48


@pytest.fixture(scope="module")
def asked():
    path = ROOT / "benchmarks" / "accuracy" / "incidents.py"
    spec = importlib.util.spec_from_file_location("accuracy_incidents", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def rows(asked, shared):
    return asked.answers(shared / "incidents")


def test_most_of_those_with_enough_numbers_are_right(asked, rows):
    total = asked.summary(rows)
    assert total["enough"] >= LEAST_ENOUGH
    assert total["good"] >= LEAST_SHARE * total["enough"], [row["id"] for row in rows if row["is"] == "wrong"]


def test_each_miss_has_its_reason(asked, rows):
    why = yaml.safe_load(asked.MISSES.read_text(encoding="utf-8"))
    assert [row["id"] for row in rows if row["is"] == "wrong" and row["id"] not in why] == []


def test_what_somebody_concluded_changes_no_answer(asked, shared, tmp_path):
    """The same answer where class, cause, title, fix and the explanation are other ones or none."""
    facts = ("symptoms", "workload", "launch_flags", "engine", "hardware", "model")
    table = asked.ids_of_classes(shared / "incidents" / "README.md")
    judged = {"class": "overload", "verdict_kind": "bottleneck", "cause_confidence": "confirmed", "title": "none"}
    for path in sorted((shared / "incidents").glob("*.yaml"))[::6]:
        case = yaml.safe_load(path.read_text(encoding="utf-8"))
        bare = tmp_path / path.name
        bare.write_text(
            yaml.safe_dump({"id": case["id"], **judged, **{k: case[k] for k in facts if k in case}}, sort_keys=False),
            "utf-8",
        )
        assert asked.answer(bare, table)["said"] == asked.answer(path, table)["said"]


def test_the_rule_of_the_readme(asked, shared):
    table = asked.ids_of_classes(shared / "incidents" / "README.md")
    assert table["prefill_bound"] == {"prefill_bound"}
    assert table["gpu_hardware_fault"] == {"gpu_fault"}
    assert table["hidden_process_state"] == set()
    assert {"kv_undersized_by_config", "kv_offload", "client_limited"} <= set(table)
