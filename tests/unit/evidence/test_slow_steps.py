"""Steps longer than their work can make them."""

from scenes import ARGV, evidence_of

SLOW = {"seconds": 40, "running": 3, "rate": 0.02, "itl_ms": 900, "gpu": {"name": "NVIDIA H200"}}


def test_a_step_longer_than_a_read_of_all_memory():
    assert evidence_of(SLOW)["itl.beyond_memory"].strength == 1.5
    assert evidence_of(SLOW | {"itl_ms": 20})["itl.beyond_memory"].strength < 0


def test_without_a_device_nothing_is_said():
    assert "itl.beyond_memory" not in evidence_of(SLOW | {"gpu": {"name": "something"}})


def test_speculation_multiplies_the_batch_that_a_graph_must_cover():
    argv = [*ARGV, "--max-cudagraph-capture-size", "6"]
    spec = [*argv, "--speculative-config", '{"num_speculative_tokens": 3}']
    assert evidence_of(SLOW, argv=argv)["config.graph_gap"].strength < 0
    assert evidence_of(SLOW, argv=spec)["config.graph_gap"].strength > 1
