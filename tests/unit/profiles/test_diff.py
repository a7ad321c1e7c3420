from pathlib import Path

import pytest

from chrome_trace import annotation, call, document, kernel, render, write
from whystall.profiles.analysis import summarise
from whystall.profiles.diff import diff
from whystall.profiles.kineto import read_kineto
from whystall.profiles.summary import TraceSummary


def side(folder: Path, steps: int, attention: float, extra: str = "") -> TraceSummary:
    events = []
    for n in range(steps):
        at = 1000 * n
        events += [annotation("execute_context_0(0)_generation_4(4)", at, 100), call("cudaLaunchKernel", at + 1, 1, n)]
        events += [kernel("flash_fwd", at + 5, attention, n), kernel("nvjet", at + 300, 10, n)]
        events += [kernel(extra, at + 400, 1, n)] if extra else []
    return summarise(read_kineto(write(folder, render(document(events)))))


def test_per_step_whatever_the_number_of_steps(tmp_path: Path) -> None:
    found = diff(side(tmp_path, 4, 100, "gone"), side(tmp_path, 10, 150, "new"))
    assert found.per == "step"
    first = found.kernels[0]
    assert (first.name, first.change_ns, first.a_count, first.b_count) == ("flash_fwd", 50_000, 1, 1)
    rows = {row.name: row for row in found.kernels}
    assert (rows["gone"].b_count, rows["new"].a_count) == (0, 0)
    assert rows["nvjet"].change_ns == 0
    gpu = next(row for row in found.phases if row.id == "decode_gpu")
    assert gpu.change == pytest.approx(161 / 111 - 1)
    assert "attention (+0.050 ms)" in found.headline.en


def test_without_steps_totals_are_compared(tmp_path: Path) -> None:
    plain = [summarise(read_kineto(write(tmp_path, render(document([kernel("nvjet", 0, n)]))))) for n in (1, 3)]
    found = diff(*plain)
    assert (found.per, found.classes[0].change_ns) == ("trace", 2000)
    assert diff(plain[0], summarise(read_kineto(write(tmp_path, render(document([])))))).kernels[0].b_count == 0
