from pathlib import Path

import numpy as np
import pytest

from whystall.errors import NotATrace
from whystall.model.configuration import IterationColumns
from whystall.profiles.iterations import read_iteration_log, summarise_iterations

LINE = (
    "(APIServer pid=1) INFO 11-30 01:36:{s:02d} [loggers.py:199] Engine 000: Iteration({s}): {c} context requests, "
    "{ct} context tokens, {g} generation requests, {g} generation tokens, iteration elapsed time: {ms} ms, "
    "GPU KV cache usage: 0.2%"
)


def test_a_log(tmp_path: Path) -> None:
    lines = [LINE.format(s=n, c=0, ct=0, g=n + 1, ms=10 + 2 * (n + 1)) for n in range(10)]
    lines += [LINE.format(s=20, c=1, ct=500, g=3, ms=90), LINE.format(s=21, c=1, ct=64, g=0, ms=40), "noise"]
    path = tmp_path / "server.log"
    path.write_text("\n".join(lines))
    found = read_iteration_log(path)
    assert found.steps == 12
    assert {row.phase: row.steps for row in found.phases} == {"prefill": 1, "mixed": 1, "decode": 10}
    assert found.decode_base_s == pytest.approx(0.010)
    assert found.decode_s_per_request == pytest.approx(0.002)
    mixed = next(row for row in found.phases if row.phase == "mixed")
    assert (mixed.max_s, mixed.tokens) == (pytest.approx(0.09), 503)


def test_one_batch_size_gives_no_line() -> None:
    ones = np.ones(5)
    zeros = np.zeros(5)
    found = summarise_iterations(IterationColumns(ones, ("0",) * 5, zeros, zeros, ones, ones, ones, ones))
    assert (found.decode_base_s, found.decode_s_per_request) == (None, None)


def test_a_log_without_them(tmp_path: Path) -> None:
    (tmp_path / "server.log").write_text("hello\n")
    with pytest.raises(NotATrace, match="no iteration lines"):
        read_iteration_log(tmp_path / "server.log")
