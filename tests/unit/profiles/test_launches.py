from pathlib import Path

from chrome_trace import call, document, kernel, render, write
from whystall.profiles.kineto import read_kineto
from whystall.profiles.launches import launch_figures
from whystall.profiles.linked import link


def test_graphs_and_single_launches_apart(tmp_path: Path) -> None:
    events = [call("cudaGraphLaunch", 0, 5, 1), *(kernel("g", 10 + n, 1, 1) for n in range(8))]
    events += [call("cudaLaunchKernel", 30, 4, 2), kernel("e", 36, 2, 2), kernel("early", 5, 3, 99)]
    found = launch_figures(link(read_kineto(write(tmp_path, render(document(events))))), 33_000)
    assert (found.kernels, found.graph_kernels, found.graph_launches, found.eager_launches) == (10, 8, 1, 1)
    assert (found.delay_p50_ns, found.call_p50_ns, found.shorter_than_launch_share) == (6000.0, 4000.0, 1.0)
    assert (found.unlinked, found.unlinked_share) == (1, 3 / 13)
    assert found.short_kernels_share == 1.0


def test_nothing_launched(tmp_path: Path) -> None:
    found = launch_figures(link(read_kineto(write(tmp_path, render(document([]))))), 0)
    assert (found.kernels, found.kernels_per_s, found.delay_p50_ns) == (0, None, None)
