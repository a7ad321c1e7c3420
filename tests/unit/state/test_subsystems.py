import numpy as np
import pytest

from states import state_of


def test_speculation_by_position_and_transfers_by_interval() -> None:
    phase = {"seconds": 10, "running": 8, "rate": 4.0, "spec": [0.5, 0.25], "transfer": {"s": 0.5, "failed": 0.25}}
    parts = state_of(phase).subsystems
    assert parts is not None
    assert parts.accepted_by_position.shape == (10, 2)
    assert np.nansum(parts.accepted_by_position, axis=0) / np.nansum(parts.drafts) == pytest.approx([0.5, 0.25])
    assert np.nansum(parts.transfer_s) / np.nansum(parts.transfers) == pytest.approx(0.5)
    assert np.nansum(parts.transfer_failures) == pytest.approx(9.0)  # of nine intervals: the series begins in the first


def test_parts_that_are_off_are_not_zero() -> None:
    parts = state_of({"seconds": 5, "running": 1, "rate": 1.0}).subsystems
    assert parts is not None
    for name in ("drafts", "mm_queries", "fetching_end", "transfers", "transfer_failures"):
        assert np.isnan(getattr(parts, name)).all(), name
    assert parts.accepted_by_position.shape == (5, 0)
