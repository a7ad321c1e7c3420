"""Settings that a restart changed: blamed for a loss after it, not for one before it."""

import pytest

from scenes import evidence_of

AWAY = {"seconds": 20, "away": True}
LOSS = {"seconds": 30, "running": 16, "waiting": 40, "queue_s": 5.0}


def log(before: str, after: str, at: float) -> list:
    lines = [(0.0, before), (at, after)]
    return [[t, f"non-default args: {{'model': 'm'{flags}}}"] for t, flags in lines]


@pytest.mark.parametrize(
    ("phases", "at", "strength"),
    [
        ([{"seconds": 25}, AWAY, LOSS], 30.0, 1.5),
        ([LOSS, AWAY, LOSS], 35.0, -0.5),  # it was there before
    ],
)
def test_whom_the_change_is_blamed_for(phases: list, at: float, strength: float) -> None:
    found = evidence_of(*phases, log=log(", 'max_num_seqs': 64", ", 'max_num_seqs': 16", at))["config.changed"]
    assert found.strength == strength
    assert "max_num_seqs 64 → 16" in found.text.en
    assert found.onset is not None


def test_the_same_settings_speak_against_and_no_restart_says_nothing() -> None:
    same = evidence_of({"seconds": 25}, AWAY, LOSS, log=log("", "", 30.0))["config.changed"]
    assert same.strength == -1.0
    assert "config.changed" not in evidence_of({"seconds": 25}, LOSS, log=log("", "", 0.0)[:1])


def test_where_it_listens_makes_nothing_slower() -> None:
    assert evidence_of({"seconds": 25}, AWAY, LOSS, log=log("", ", 'port': 8001", 30.0))["config.changed"].value == 0
