from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from chrome_trace import annotation, call, document, kernel, memcpy, render, write
from whystall.profiles.critical_path import critical_path
from whystall.profiles.kineto import read_kineto
from whystall.profiles.linked import link
from whystall.profiles.summary import CriticalPath


def path_of(folder: Path, *events) -> CriticalPath | None:
    return critical_path(link(read_kineto(write(folder, render(document(list(events)))))))


def test_a_full_queue_is_all_gpu(tmp_path: Path) -> None:
    events = [e for n in range(5) for e in (call("cudaLaunchKernel", n, 1, n), kernel("nvjet", 10 + 10 * n, 10, n))]
    found = path_of(tmp_path, *events)
    assert found is not None
    assert (found.gpu_ns, found.queue_ns, found.host_ns) == (50_000, 0, 0)
    assert found.families == {"gemm": 50_000}
    assert found.launch_ns == 10_000  # the first had nothing before it


def test_a_host_that_waits_and_thinks_is_on_the_path(tmp_path: Path) -> None:
    found = path_of(
        tmp_path,
        annotation("execute_context_0(0)_generation_1(1)", 0, 40),
        call("cudaLaunchKernel", 0, 1, 1),
        kernel("a", 2, 8, 1),
        call("cudaStreamSynchronize", 3, 8, 2),
        call("cudaLaunchKernel", 50, 1, 3),
        kernel("b", 53, 7, 3),
    )
    assert found is not None
    assert (found.gpu_ns, found.launch_ns, found.host_ns, found.host_in_steps_ns) == (15_000, 5_000, 40_000, 30_000)
    assert found.total_ns == 60_000


def test_kernels_of_one_graph_follow_each_other(tmp_path: Path) -> None:
    graph = [kernel("a", 10 + 5 * n, 4, 1) for n in range(4)]
    found = path_of(tmp_path, call("cudaGraphLaunch", 0, 100, 1), *graph)
    assert found is not None
    assert (found.gpu_ns, found.queue_ns, found.launch_ns) == (16_000, 3_000, 10_000)


def test_nothing_to_walk(tmp_path: Path) -> None:
    assert path_of(tmp_path, call("cudaFree", 0, 1, 1)) is None


SMALL = st.integers(0, 40)


@given(st.lists(st.tuples(st.sampled_from(["k", "c", "s", "m"]), SMALL, SMALL, st.integers(0, 6)), max_size=25))
@settings(max_examples=150)
def test_the_parts_always_sum_to_the_whole(tmp_path_factory, rows) -> None:
    events = []
    for kind, start, duration, link_id in rows:
        if kind in "km":
            make = kernel if kind == "k" else lambda n, s, d, c: memcpy(n, s, d, 4, c)
            events.append(make("DtoH", start, duration, link_id))
        else:
            events.append(
                call("cudaLaunchKernel" if kind == "c" else "cudaStreamSynchronize", start, duration, link_id)
            )
    found = path_of(tmp_path_factory.mktemp("p"), *events)
    if found is not None:
        parts = (found.gpu_ns, found.queue_ns, found.launch_ns, found.host_ns)
        assert min(parts) >= 0
        assert sum(parts) == found.total_ns
        assert sum(found.families.values()) == found.gpu_ns
        assert found.host_in_steps_ns <= found.host_ns
