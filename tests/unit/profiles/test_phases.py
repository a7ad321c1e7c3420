from pathlib import Path

from chrome_trace import annotation, call, document, kernel, render, write
from whystall.profiles.kineto import read_kineto
from whystall.profiles.linked import link
from whystall.profiles.phases import phase_times, step_times

EVENTS = [
    annotation("execute_context_2(100)_generation_0(0)", 0, 10),
    call("cudaLaunchKernel", 1, 1, 1),
    annotation("execute_context_0(0)_generation_4(4)", 20, 10),
    call("cudaGraphLaunch", 21, 1, 2),
    call("cudaLaunchKernel", 40, 1, 3),
    kernel("flash_fwd", 22, 5, 1),  # runs while the next step is annotated
    kernel("nvjet", 30, 3, 2),
    kernel("nvjet", 32, 3, 2),
    kernel("_gumbel_sample_kernel", 45, 2, 3),
]


def test_steps_and_phases(tmp_path: Path) -> None:
    linked = link(read_kineto(write(tmp_path, render(document(EVENTS)))))
    steps = step_times(linked)
    assert [(step.phase, step.ns, step.busy_ns, step.graph_kernels) for step in steps] == [
        ("prefill", 5000, 5000, 0),
        ("decode", 6000, 5000, 2),
    ]
    assert steps[0].families == {"attention": 5000}
    assert (steps[1].generation_requests, steps[0].context_tokens) == (4, 100)
    assert steps[0].gpu_start_ns is not None
    assert steps[0].gpu_start_ns > steps[1].start_ns
    phases = {row.phase: row for row in phase_times(linked, steps)}
    assert list(phases) == ["prefill", "decode", "outside"]
    assert (phases["decode"].graph_share, phases["decode"].host_p50_ns) == (1.0, 10_000.0)
    assert (phases["outside"].ns, phases["outside"].families[0].id) == (2000, "sampling")


def test_no_steps_no_phases(tmp_path: Path) -> None:
    linked = link(read_kineto(write(tmp_path, render(document([kernel("a", 0, 1)])))))
    assert phase_times(linked, step_times(linked)) == ()
