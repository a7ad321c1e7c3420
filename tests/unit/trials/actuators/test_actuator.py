"""A snapshot's digest says whether two configurations are the same."""

from whystall.trials.actuators.actuator import Snapshot


def test_equal_configurations_have_equal_digests() -> None:
    first = Snapshot(("--a", "1"), "{}")
    assert first.digest == Snapshot(("--a", "1"), "{}").digest
    assert len({first.digest, Snapshot(("--a", "2"), "{}").digest, Snapshot(("--a", "1"), "[]").digest}) == 3
    assert Snapshot(("--a 1",)).digest != Snapshot(("--a", "1")).digest
