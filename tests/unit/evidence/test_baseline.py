"""A saved healthy recording tells what is usual where the window has no healthy past."""

import pytest

from scenes import ARGV, CALM
from states import state_of
from whystall.errors import UsageError
from whystall.evidence.baseline import baselines, known_of
from whystall.evidence.families import collect
from whystall.evidence.scene import Scene

RUNNING, KV = [20, 28, 36, 30, 24, 18, 26, 34], [0.1, 0.14, 0.18, 0.15, 0.12, 0.09, 0.13, 0.17]
WORK = {"seconds": 40, "running": RUNNING, "kv": KV, "rate": 2, "prompt": 400, "output": 100, "cached": 0.6}
QUICK, SLOW = [6 + 0.2 * r for r in RUNNING], [40 + 0.2 * r for r in RUNNING]


def state(version: str = "0.26.0", **changes):
    return state_of({**WORK, "itl_ms": QUICK, **changes}, argv=tuple(ARGV), version=version)


def against(usual, seen):
    return collect(Scene(seen, known=known_of(baselines([usual], "saved"), seen)))


def test_what_was_slow_from_the_first_page_is_seen() -> None:
    found = against(state(), state(itl_ms=SLOW))
    assert found["step.residual"].strength >= 0.3
    assert found["baseline.itl"].anomaly
    assert found["baseline.itl"].value == pytest.approx(46 / 12, rel=0.2)
    alone = Scene(state(itl_ms=SLOW))
    assert not alone.focus.hurts  # nothing tells that it is not always so


def test_an_equal_window_departs_in_nothing() -> None:
    found = against(state(), state())
    assert not [e.id for e in found.values() if e.id.startswith("baseline.") and e.anomaly]


def test_a_changed_load_departs_and_leaves_the_steps_alone() -> None:
    found = against(state(), state(prompt=1200, cached=0.0))
    assert found["baseline.prompts"].anomaly
    assert found["baseline.hits"].anomaly
    assert found["prefix.lost"].strength >= 1
    assert not found["baseline.itl"].anomaly


def test_another_version_than_the_baselines_is_named() -> None:
    assert against(state("0.26.0"), state("0.32.0"))["version.changed"].strength > 1
    assert "version.changed" not in against(state("0.26.0"), state("0.26.0"))


def test_a_baseline_with_an_incident_is_refused() -> None:
    queued = state_of(CALM, {**CALM, "waiting": 20, "queue_s": 4}, argv=tuple(ARGV))
    with pytest.raises(UsageError, match="incident of its own"):
        baselines([queued], "saved")


def test_without_a_baseline_nothing_is_compared() -> None:
    assert known_of([], state()) is None
    assert not [name for name in collect(Scene(state())) if name.startswith("baseline.")]
