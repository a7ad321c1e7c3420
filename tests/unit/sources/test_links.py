"""Rounds of probes between hosts as columns."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from whystall.sources.files.recording import read_recording
from whystall.sources.links import LinkRow, link_columns
from whystall.sources.live.recorder import Recorder

SECONDS = st.none() | st.floats(0, 60)
ROWS = st.builds(
    LinkRow, st.floats(0, 2e9), st.text(max_size=20), SECONDS, SECONDS, SECONDS, st.just(5), st.integers(0, 5)
)
PAGE = b"vllm:num_requests_running 1\n"


@given(st.lists(ROWS, max_size=20))
def test_a_row_each_in_their_order_and_what_did_not_come_back_is_not_seen(rows: list[LinkRow]) -> None:
    found = link_columns(rows)
    assert (found is None) == (not rows)
    if found is not None:
        assert found.peer == tuple(row.peer for row in rows)
        assert np.isnan(found.rtt_median_s).tolist() == [row.rtt_median_s is None for row in rows]
        assert found.lost.sum() == sum(row.lost for row in rows)


def test_what_was_recorded_is_read_back_and_what_is_no_row_is_counted(tmp_path: Path) -> None:
    row = LinkRow(1000.5, "gpu8:9400", 0.001, 0.002, 0.004, 5, 1)
    with Recorder(tmp_path / "r") as recorder:
        recorder.page(1000.0, PAGE)
        recorder.links([row, LinkRow(1015.5, "gpu8:9400", None, None, None, 5, 5)])
        recorder.page(1015.0, PAGE)
    links = read_recording(tmp_path / "r").links
    assert links is not None
    assert (links.t.tolist(), links.lost.tolist()) == ([1000.5, 1015.5], [1.0, 5.0])
    assert links.rtt_max_s[0] == 0.004
    (tmp_path / "r" / "links.jsonl.gz").unlink()
    (tmp_path / "r" / "links.jsonl").write_text('{"t": "x"}\n[]\n')
    damaged = read_recording(tmp_path / "r")
    assert damaged.links is None
    assert [warning.id for warning in damaged.warnings] == ["bad_lines"]
