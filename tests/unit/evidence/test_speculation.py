"""What drafting wins: by acceptance and by how many tokens a step verifies."""

import pytest

from scenes import evidence_of

GOOD, BAD = [0.8, 0.7, 0.6], [0.3, 0.05, 0.01]
GPU = {"gpu": {"util": 0.9}}


def test_acceptance_by_position() -> None:
    found = evidence_of({"spec": GOOD})["spec.acceptance"]
    assert found.value == pytest.approx(0.7)
    assert "80% 70% 60%" in found.text.en
    assert found.strength < 0 < evidence_of({"spec": BAD})["spec.acceptance"].strength


@pytest.mark.parametrize(
    ("running", "spec", "wins"),
    [(8, GOOD, True), (8, BAD, True), (400, GOOD, False), (400, BAD, False)],
)
def test_a_large_batch_makes_drafts_cost(running: int, spec: list, wins: bool) -> None:
    found = evidence_of({"running": running, "spec": spec, **GPU})["spec.gain"]
    assert (found.value > 1) is wins


def test_the_roofline_by_hand() -> None:
    """100 requests, 3 drafts: 400 tokens over the H200's 206; 3.1 tokens a step; a drafter of a tenth."""
    found = evidence_of({"running": 100, "spec": GOOD, **GPU})["spec.gain"]
    assert found.value == pytest.approx(3.1 / (400 / 206) / 1.1, rel=0.01)


def test_the_log_stands_in_and_without_drafts_nothing_is_said() -> None:
    line = (
        "SpecDecoding metrics: Mean acceptance length: 1.30, Accepted throughput: 1.00 tokens/s, Drafted throughput: "
    )
    line += "10.00 tokens/s, Accepted: 10 tokens, Drafted: 100 tokens, Avg Draft acceptance rate: 10.0%"
    found = evidence_of({}, log=[[5.0, line]])["spec.acceptance"]
    assert (found.source, found.value) == ("log", pytest.approx(0.1))
    assert "spec.acceptance" not in evidence_of({})
