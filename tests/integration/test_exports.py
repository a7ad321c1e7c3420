"""The exports with the real tools: promtool checks and runs the rules, Prometheus answers every panel's query."""

from __future__ import annotations

import asyncio
import shutil
import subprocess
import sys
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import aiohttp
import pytest
import yaml

from alerting import STEP_S, WHERE, faulty_pages, firing, recorded_pages, series_of
from integration_processes import process, until
from whystall.reports.exports.figures import Queries
from whystall.reports.exports.grafana import BoardsAsked, boards, expressions
from whystall.reports.exports.rules import RulesAsked, rules_file

pytestmark = [
    pytest.mark.prometheus,
    pytest.mark.skipif(shutil.which("promtool") is None, reason="no prometheus on this machine"),
]
RULES = rules_file(RulesAsked())


@pytest.mark.parametrize("style", ["vllm", "ray"])
@pytest.mark.parametrize("lang", ["en", "zh"])
def test_promtool_takes_the_rules(tmp_path: Path, style: str, lang: str) -> None:
    file = tmp_path / "rules.yml"
    file.write_text(rules_file(RulesAsked(Queries(style), docs="https://docs.example", lang=lang)), encoding="utf-8")  # type: ignore[arg-type]
    done = subprocess.run(["promtool", "check", "rules", str(file)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


# Half an hour of a server: long enough for "usual", and for what an alert waits.
FAULTY = {
    "kv_capacity": "WhystallKvCapacity",
    "seat_cap": "WhystallSeatCap",
    "queue_limit": "WhystallQueueLimit",
    "engine_hang": "WhystallEngineHang",
    "engine_dead": "WhystallEngineDead",
    "longer_prompts": "WhystallLongerPrompts",
    "longer_outputs": "WhystallLongerOutputs",
    "prefix_cache_loss": "WhystallPrefixCacheLoss",
    "frontend_cpu": "WhystallFrontendCpu",
    "overload": "WhystallOverload",
    "replica_imbalance": "WhystallReplicaImbalance",
}
# Those whose trouble fills the pool or slows the steps, too.
WITH_SYMPTOMS = ("longer_prompts", "longer_outputs", "prefix_cache_loss", "overload", "replica_imbalance")


@pytest.mark.slow
@pytest.mark.parametrize("fault", FAULTY)
def test_a_fault_fires_its_alert(fault: str, tmp_path: Path) -> None:
    fired = firing(tmp_path, RULES, series_of(faulty_pages(fault, 32, 14), RULES))
    assert FAULTY[fault] in fired
    if fault not in WITH_SYMPTOMS:
        assert fired <= {FAULTY[fault], "WhystallQueue"}
    # Triggers of other kinds are not taken for each other.
    triggers = {FAULTY[one] for one in WITH_SYMPTOMS} - {FAULTY[fault]}
    assert fired & triggers <= ({"WhystallLongerPrompts"} if fault == "prefix_cache_loss" else set())


def test_a_hung_engine_and_a_healthy_one(tmp_path: Path) -> None:
    pages = faulty_pages("engine_hang", 16, 12)
    assert firing(tmp_path, RULES, series_of(pages, RULES)) == {"WhystallEngineHang"}
    assert firing(tmp_path, RULES, series_of(pages[: 12 * 60 // STEP_S], RULES)) == set()


@pytest.mark.parametrize(
    ("recording", "alert"),
    [
        ("seq_cap", "WhystallSeatCap"),
        ("cpu_kv_overflow", "WhystallKvCapacity"),
        ("prefix_collapse", "WhystallPrefixCacheLoss"),
    ],
)
def test_a_real_recording_fires_its_alert(recording: str, alert: str, data: Path, tmp_path: Path) -> None:
    fired = firing(tmp_path, RULES, series_of(recorded_pages(data / "recordings" / recording), RULES))
    assert alert in fired
    # The lost prefix fills the seats, so that one speaks beside it.
    assert fired <= {alert, "WhystallQueue", "WhystallSlowTokens", "WhystallSeatCap"}


def test_a_healthy_recording_fires_nothing(data: Path, tmp_path: Path) -> None:
    assert firing(tmp_path, RULES, series_of(recorded_pages(data / "recordings" / "healthy"), RULES)) == set()


def test_the_words_of_an_alert(tmp_path: Path) -> None:
    """promtool compares labels and annotations to the letter."""
    rejected = f'vllm:admission_rejections_total{{{WHERE},model_name="m",reason="max_num_queued_reqs"}}'
    served = f'vllm:request_success_total{{{WHERE},model_name="m",engine="0",finished_reason="stop"}}'
    (tmp_path / "rules.yml").write_text(RULES, encoding="utf-8")
    groups = {group["name"]: group["rules"] for group in yaml.safe_load(RULES)["groups"]}
    rule = next(rule for rule in groups["whystall-causes"] if rule["alert"] == "WhystallQueueLimit")
    words = dict(rule["annotations"])
    words["summary"] = "Queue limit refuses requests (50%) · emulated:8000"
    words["description"] = words["description"].replace("{{ $labels.instance }}", "emulated:8000")
    labels = {**rule["labels"], "model_name": "m", "job": "vllm", "instance": "emulated:8000"}
    test = {
        "interval": "15s",
        "input_series": [{"series": rejected, "values": "0+15x40"}, {"series": served, "values": "0+15x40"}],
        "alert_rule_test": [
            {
                "eval_time": "9m",
                "alertname": "WhystallQueueLimit",
                "exp_alerts": [{"exp_labels": labels, "exp_annotations": words}],
            }
        ],
    }
    document = {"rule_files": ["rules.yml"], "evaluation_interval": "15s", "tests": [test]}
    (tmp_path / "test.yml").write_text(yaml.safe_dump(document), encoding="utf-8")
    command = ["promtool", "test", "rules", "test.yml"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


# What the emulator has no metric for, or what is empty while all is well.
EMPTY_IN_HEALTH = {"Alerts that fire", "Server started"}


async def test_every_panel_has_data_on_a_real_prometheus(tmp_path: Path, free_port: Callable[[], int]) -> None:
    served, port = free_port(), free_port()
    scrapes = [
        {"job_name": "vllm", "static_configs": [{"targets": [f"127.0.0.1:{served}"]}]},
        {"job_name": "dcgm", "metrics_path": "/dcgm/metrics", "static_configs": [{"targets": [f"127.0.0.1:{served}"]}]},
    ]
    config = {"global": {"scrape_interval": "1s", "evaluation_interval": "1s"}, "rule_files": ["rules.yml"]}
    (tmp_path / "p.yml").write_text(yaml.safe_dump(config | {"scrape_configs": scrapes}), encoding="utf-8")
    (tmp_path / "rules.yml").write_text(RULES, encoding="utf-8")
    prometheus = ["prometheus", f"--config.file={tmp_path / 'p.yml'}", f"--storage.tsdb.path={tmp_path / 'data'}"]
    api = f"http://127.0.0.1:{port}/api/v1"
    with ExitStack() as all_:
        emulate = [sys.executable, "-m", "whystall", "emulate", "--rate", "8", "--shared-prefix", "128"]
        all_.enter_context(process(*emulate, "--port", str(served)))
        all_.enter_context(process(*prometheus, f"--web.listen-address=127.0.0.1:{port}"))
        finished = "whystall:ttft_mean_s and whystall:output_tokens_mean"
        await until(f"{api}/query?query={finished}", lambda told: bool(told["data"]["result"]))
        empty = await _empty_panels(api)
        rules = await _rules(api)
    assert empty - EMPTY_IN_HEALTH == set()
    assert {rule["name"]: rule["lastError"] for rule in rules if rule["health"] != "ok"} == {}
    recorded = {rule["name"] for rule in rules if rule["type"] == "recording"}
    assert len(recorded) > 20


async def _empty_panels(api: str) -> set[str]:
    """Titles of the panels with a query that gave nothing; an error fails at once."""
    empty = set()
    async with aiohttp.ClientSession() as session:
        for board in boards(BoardsAsked()).values():
            for title, expr in expressions(board):
                query = expr.replace("$__rate_interval", "10s").replace("$instance", ".*").replace("$gpu_host", ".*")
                async with session.get(f"{api}/query", params={"query": query}) as answer:
                    told = await answer.json()
                assert told["status"] == "success", (title, expr, told)
                if not told["data"]["result"]:
                    empty.add(title)
    return empty


async def _rules(api: str) -> list[dict]:
    """All rules once each was evaluated."""
    async with aiohttp.ClientSession() as session:
        while True:
            async with session.get(f"{api}/rules") as answer:
                groups = (await answer.json())["data"]["groups"]
            rules = [rule for group in groups for rule in group["rules"]]
            if all(rule["health"] != "unknown" for rule in rules):
                return rules
            await asyncio.sleep(0.2)


def test_the_tools_take_what_init_writes(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "whystall", "init", str(tmp_path)]
    assert subprocess.run(command, capture_output=True, check=False).returncode == 0
    checks = [["promtool", "check", "config", "prometheus/prometheus.yml"]]
    if shutil.which("amtool"):
        checks.append(["amtool", "check-config", "alertmanager/alertmanager.yml"])
    if shutil.which("systemd-analyze"):
        checks.append(["systemd-analyze", "verify", "systemd/whystall.service"])
    for check in checks:
        done = subprocess.run(check, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
