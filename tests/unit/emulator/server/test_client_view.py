"""What the emulated clients see: every token once, and what lies between them and the server."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from emulated import START, total
from whystall.emulator.engine.options import EngineOptions
from whystall.emulator.engine.workload import LengthClass
from whystall.emulator.profiles import load_profile
from whystall.emulator.server import client_view
from whystall.emulator.server.client_view import ClientView, token_times
from whystall.emulator.server.deployment import Deployment, Serving
from whystall.emulator.server.faults import inject, parse_fault, prepared
from whystall.emulator.server.recorder import record_run
from whystall.emulator.server.traffic import TrafficPlan

LINE = {"intended", "sent", "prompt_tokens", "output_tokens", "chunks", "ttft", "e2e"}
LINE |= {"itl_p50", "itl_p99", "itl_max", "error"}


def deployment(*faults: str) -> Deployment:
    options = EngineOptions(num_gpu_blocks=20000, max_num_seqs=1024, async_scheduling=True)
    plan = TrafficPlan(mix=(LengthClass(1.0, (1200, 1600), (100, 300)),), rate=8)
    planned = [parse_fault(fault) for fault in faults]
    server = Deployment(
        prepared(Serving(options=options, profile=load_profile("h200-8b"), traffic=plan), planned), start=START
    )
    for each in planned:
        inject(server, each)
    return server


def rows(*faults: str, seconds: float = 40) -> list[dict]:
    server = deployment(*faults)
    clients = ClientView(server)
    for t in range(int(seconds) + 1):
        server.advance(START + t)
        clients.watch()
    return clients.rows


def median(rows: list[dict], name: str) -> float:
    return float(np.median([row[name] for row in rows if row["error"] is None]))


@pytest.mark.parametrize("faults", [(), ("kv_capacity@10",), ("head_of_line_prompt@5",)])
def test_each_token_is_seen_once(faults: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    """Preempted ones too, whose tokens skip steps: the gaps add up to those of the page."""
    counts, spaces = [], []

    def counted(engine, steps):
        at = token_times(engine, steps)
        counts.append(len(at))
        spaces.append(at[-1] - at[0])
        return at

    monkeypatch.setattr(client_view, "token_times", counted)
    server = deployment(*faults)
    clients = ClientView(server)
    server.advance(START + 30)
    server.traffic.plan = TrafficPlan()  # and wait until all have ended
    server.advance(START + 200)
    assert counts
    assert counts == [row["output_tokens"] for row in clients.rows]
    page = server.page()
    assert sum(spaces) == pytest.approx(total(page, "vllm:inter_token_latency_seconds_sum"))
    assert (total(page, "vllm:num_preemptions_total") > 0) == bool(faults)


def test_without_anything_between_the_client_sees_the_engine() -> None:
    server = deployment()
    clients = ClientView(server)
    server.advance(START + 30)
    page = server.page()
    assert np.mean([row["ttft"] for row in clients.rows]) == pytest.approx(
        total(page, "vllm:time_to_first_token_seconds_sum") / total(page, "vllm:time_to_first_token_seconds_count"),
        rel=0.05,
    )
    assert all(row["ttft"] <= row["e2e"] and row["itl_p50"] <= row["itl_p99"] <= row["itl_max"] for row in clients.rows)


def test_a_network_adds_to_the_first_token_and_keeps_the_spacing() -> None:
    plain, far = rows(), rows("network")
    assert median(far, "ttft") - median(plain, "ttft") == pytest.approx(0.4, abs=0.02)
    assert median(far, "itl_p50") == pytest.approx(median(plain, "itl_p50"), rel=0.02)


def test_a_gateway_hands_tokens_on_in_clumps() -> None:
    plain, held = rows(), rows("gateway")
    assert median(held, "ttft") > 3 * median(plain, "ttft")
    assert median(held, "itl_p50") == 0.0
    assert median(held, "itl_max") > 5 * median(plain, "itl_max")
    assert median(held, "e2e") == pytest.approx(median(plain, "e2e"), rel=0.02)


@pytest.mark.parametrize(
    ("fault", "error"),
    [
        ("queue_limit@10", "http 503"),
        ("engine_dead@10", "http 500"),
        ("config_regression@10", "ServerDisconnectedError"),
        ("weight_loading*0.1", "ClientConnectorError"),
    ],
)
def test_what_is_not_served_is_an_error(fault: str, error: str) -> None:
    failed = [row for row in rows(fault) if row["error"] is not None]
    assert error in {row["error"] for row in failed}
    assert all(row["ttft"] is None and row["chunks"] == 0 for row in failed)


def test_a_recorded_run_has_them_as_lines(tmp_path: Path) -> None:
    server = deployment()
    record_run(server, tmp_path / "one", seconds=10)
    record_run(server, tmp_path / "two", seconds=10)
    first, second = (
        [json.loads(line) for line in (tmp_path / name / "requests.jsonl").read_text().splitlines()]
        for name in ("one", "two")
    )
    assert all(set(row) == LINE for row in first + second)
    assert max(row["sent"] for row in first) < START + 10 <= min(row["sent"] for row in second)


def test_lora_shows_in_the_log_and_among_the_deferred() -> None:
    server = deployment("lora_swapping@10")
    server.advance(START + 60)
    assert any("'enable_lora': True, 'max_loras': 2" in line for line in server.log.recent)
    deferred = [
        float(line.rsplit(" ", 1)[1])
        for line in server.page().splitlines()
        if line.startswith("vllm:num_requests_waiting_by_reason{") and 'reason="deferred"' in line
    ]
    assert deferred[0] > 10
