import pytest

from scenes import evidence_of

STOP = {"seconds": 8, "stopped": True, "waiting": 2}


def test_a_passing_standstill_is_no_hang() -> None:
    found = evidence_of({}, STOP, {})
    assert found["progress.stalled"].value == pytest.approx(8)
    assert found["progress.stalled"].strength > 0.5
    assert found["progress.stalled"].onset is not None
    assert found["progress.stalled"].onset.seconds == pytest.approx(20)
    assert "progress.frozen" not in found


def test_a_hang_is_still_flat_at_the_end() -> None:
    found = evidence_of({}, {**STOP, "seconds": 40})
    assert found["progress.frozen"].value == pytest.approx(40)
    assert found["progress.frozen"].strength == 1.5
    assert found["progress.frozen"].anomaly


@pytest.mark.parametrize(
    "phase", [{}, {"seconds": 40, "running": 0, "rate": 0.0}, {**STOP, "running": 0, "waiting": 0}]
)
def test_idle_is_not_still(phase: dict) -> None:
    assert evidence_of({}, phase)["progress.stalled"].strength == -1.0
