"""A client that feeds in waves."""

from scenes import evidence_of

FALLING = {"seconds": 6, "running": [20, 14, 8, 3, 1, 0], "rate": 0}


def test_an_engine_that_runs_dry_with_nobody_waiting():
    assert evidence_of({"seconds": 10, "running": 20, "rate": 0}, FALLING)["clients.waves"].strength == 1.0


def test_new_prompts_or_a_queue_are_no_wave():
    assert "clients.waves" not in evidence_of({"seconds": 10, "running": 20}, FALLING | {"rate": 3.0})
    assert "clients.waves" not in evidence_of({"seconds": 10, "running": 20, "waiting": 3}, FALLING)
