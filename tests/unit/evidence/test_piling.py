"""Requests that pile up in the batch, and batches that only grow."""

import pytest

from scenes import evidence_of

WIDE = ["vllm", "serve", "m", "--max-num-seqs", "1024", "--num-gpu-blocks-override", "60000", "--block-size", "16"]
CALM = {"seconds": 40, "running": 8, "rate": 20, "prompt": 500, "itl_ms": 6}
CLIMB = list(range(30, 930, 30))
FULL = [n / 5 for n in CLIMB]  # 5,000 tokens a second, whoever runs
LATE = {"seconds": 30, "prompt": 500, "itl_ms": FULL}


def growing(*phases):
    found = evidence_of(*phases, argv=WIDE).get("batch.growing")
    return found.strength if found is not None else None


def test_more_come_than_finish_and_all_of_them_run():
    # 30 a second finish and 30 more run with every second: of 60 that come, half stay
    found = evidence_of(CALM, {**LATE, "running": CLIMB, "rate": 30}, argv=WIDE)["batch.growing"]
    assert found.strength > 0.7
    assert found.value == pytest.approx(30, rel=0.05)
    assert "though nobody waits" in found.text.en


@pytest.mark.parametrize(
    "phase",
    [
        {**LATE, "running": 300, "rate": 60},  # it found its size
        {**LATE, "running": [30 + n for n in range(30)], "rate": 19},  # no more come than before
        {**LATE, "running": CLIMB, "rate": 30, "itl_ms": 30},  # more tokens come of it
        {**LATE, "running": CLIMB, "waiting": [n // 2 for n in CLIMB], "rate": 30},  # the queue tells
    ],
    ids=["found its size", "no more come", "it makes more tokens", "a queue"],
)
def test_a_batch_that_does_not_pile_up(phase):
    assert not growing(CALM, phase)


def test_it_may_grow_for_as_long_as_a_request_stays():
    slow = {**CALM, "running": 400}  # each stays for 20 s, so that a batch grows for 20 s when more come
    assert growing(slow, {**LATE, "running": [400 + n for n in CLIMB], "rate": 30}) is None
