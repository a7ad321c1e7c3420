"""What is wrong with a measurement is found in it."""

import msgspec
import numpy as np
import pytest

from whystall.trials.blocks import BlockResult, ClientUse
from whystall.trials.load.findings import load_findings
from whystall.trials.load.plan import LoadPlan

OPEN, CLOSED = LoadPlan(rate=10), LoadPlan(clients=8)


def block(requests: int = 100, cut: int = 0, client: ClientUse | None = None) -> BlockResult:
    ones = np.ones(requests)
    return BlockResult(
        started=0.0,
        seconds=10.0,
        intended_s=np.linspace(0, 9.9, requests),
        ttft_s=ones,
        e2e_s=ones,
        output_tokens=ones,
        failed=np.zeros(requests, dtype=bool),
        cut=np.arange(requests) < cut,
        itl_s=np.zeros(0),
        itl_weights=np.zeros(0),
        tokens_t=np.zeros(0),
        tokens_n=np.zeros(0),
        client=client,
    )


def ids(plan: LoadPlan, a: BlockResult, b: BlockResult | None = None) -> set[str]:
    return {finding.id for finding in load_findings(plan, [a], [b or a], 0.0)}


def test_a_sound_measurement_has_no_findings() -> None:
    calm = ClientUse(np.full(1000, 0.0005), 0.3, 40)
    assert ids(OPEN, block(client=calm)) == set()


@pytest.mark.parametrize(
    ("use", "finding"),
    [
        (ClientUse(np.r_[np.zeros(95), np.full(5, 0.02)], 0.2, 40), "client_lag"),
        (ClientUse(np.zeros(100), 0.85, 40), "client_cpu"),
        (ClientUse(np.zeros(100), 0.2, 20_000, left_out=7), "client_ceiling"),
    ],
)
def test_a_client_at_its_limit_is_named(use: ClientUse, finding: str) -> None:
    assert ids(OPEN, block(client=use)) == {finding}


def test_a_closed_loop_is_said_to_hide_queueing_with_both_rates() -> None:
    found = load_findings(CLOSED, [block(100)], [block(200)], 0.0)
    assert [finding.id for finding in found] == ["closed_loop"]
    assert "10 / 20 requests/s" in found[0].text.en


def test_a_load_above_capacity_is_named_with_its_arm() -> None:
    found = load_findings(OPEN, [block()], [block(cut=30)], 0.0)
    assert [finding.id for finding in found] == ["above_capacity"]
    assert "30% of the requests to B" in found[0].text.en


def test_a_tail_of_few_requests_is_named() -> None:
    assert ids(OPEN, block(12)) == {"few_requests"}


def test_requests_that_fail_are_named_with_the_reason() -> None:
    bad = msgspec.structs.replace(block(), failed=np.arange(100) < 35, error="HTTP 400: too long")
    found = [finding for finding in load_findings(OPEN, [bad], [block()], 0.0) if finding.id == "failing"]
    assert [finding.text.en for finding in found] == [
        "35% of the requests to A failed (HTTP 400: too long): latencies are of the others"
    ]
    assert "A" in found[0].text.zh


def test_what_a_400_most_often_means_is_said() -> None:
    bad = msgspec.structs.replace(block(), failed=np.arange(100) < 35, error="http 400")
    (finding,) = [finding for finding in load_findings(OPEN, [bad], [block()], 0.0) if finding.id == "failing"]
    assert "--max-model-len" in finding.text.en
    assert "--max-model-len" in finding.text.zh
    head = [finding for finding in load_findings(OPEN, [bad], [block()], 9.0) if finding.id == "failing"]
    assert head == []  # only the head's requests failed, and the figures leave it out
