from pathlib import Path

from chrome_trace import annotation, call, document, kernel, memcpy, render, write
from whystall.profiles.idle import find_gaps, idle_time
from whystall.profiles.kineto import read_kineto
from whystall.profiles.linked import link
from whystall.profiles.summary import Idle


def idle(tmp_path: Path, *events) -> Idle:
    return idle_time(find_gaps(link(read_kineto(write(tmp_path, render(document(list(events))))))))


FIRST = (call("cudaLaunchKernel", 0, 2, 1), kernel("a", 3, 7, 1))  # runs to 10


def test_a_kernel_still_being_launched(tmp_path: Path) -> None:
    found = idle(tmp_path, *FIRST, call("cudaLaunchKernel", 9, 4, 2), kernel("b", 15, 1, 2))
    assert (found.idle_ns, found.launch_ns) == (5000, 5000)
    assert (found.gaps_under_10us, found.longest_ns) == (1, 5000)


def test_a_kernel_that_waited_on_the_gpu(tmp_path: Path) -> None:
    assert idle(tmp_path, *FIRST, call("cudaLaunchKernel", 4, 2, 2), kernel("b", 15, 1, 2)).device_ns == 5000


def test_the_host_between_two_steps(tmp_path: Path) -> None:
    steps = (annotation("execute_context_0(0)_generation_1(1)", t, 5) for t in (0, 1990))
    found = idle(tmp_path, *FIRST, call("cudaLaunchKernel", 1991, 4, 2), kernel("b", 2010, 1, 2), *steps)
    assert (found.idle_ns, found.between_steps_ns, found.gaps_over_1ms) == (2_000_000, 2_000_000, 1)


def test_a_blocking_copy(tmp_path: Path) -> None:
    later = (call("cudaLaunchKernel", 18, 1, 3), kernel("b", 20, 1, 3))
    found = idle(tmp_path, *FIRST, call("cudaMemcpy", 8, 6, 2), memcpy("DtoH", 12, 1, 4, 2), *later)
    assert (found.idle_ns, found.copy_ns, found.launch_ns) == (9000, 3000, 6000)


def test_work_launched_before_the_window(tmp_path: Path) -> None:
    assert idle(tmp_path, *FIRST, kernel("b", 15, 1, 77)).unlinked_ns == 5000


def test_devices_do_not_fill_each_others_gaps(tmp_path: Path) -> None:
    other = (kernel("c", 10, 5, 8, device=1), kernel("d", 16, 1, 9, device=1))
    assert idle(tmp_path, *FIRST, kernel("b", 15, 1, 77), *other).idle_ns == 6000
