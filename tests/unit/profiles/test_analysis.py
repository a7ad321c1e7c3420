"""Every figure against the slow exact reference, to the nanosecond: on real traces and on made ones."""

from __future__ import annotations

import gzip
import lzma
import re
import tarfile
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import chrome_trace
from exact_trace import Exact, load
from whystall.profiles.analysis import summarise, with_roofline
from whystall.profiles.bytestream import ReadLimits
from whystall.profiles.kernels import Classifier
from whystall.profiles.kineto import read_kineto
from whystall.profiles.summary import TraceSummary

REAL = (
    "h200_m1b_eager.pt.trace.json.gz",
    "h200_m8b_graph.pt.trace.json.gz",
    "public/vllm_b200_tp8_rank0_eager.json.gz",
    "public/vllm_mi300x_decode_full_graph.json.gz",
    "public/vllm_mi300x_prefilldecode_piecewise.json.gz",
    "public/sglang_mi300x_decode.json.gz",
    "public/h100_qwen_0.5b.json.gz",
    "public/ddp_v100_rank0.json.gz",
    "public/ns_resolution_v100.json.gz",
)
CLASSIFIER = Classifier()


def classify(name: str) -> tuple[str, str]:
    id = CLASSIFIER.classify(name)
    return id, CLASSIFIER.family(id)


def check(summary: TraceSummary, exact: Exact) -> None:
    """Everything that both can say is the same."""
    assert summary.events == exact.events
    assert summary.rows == len(exact.rows)
    assert summary.ns == sum(row.duration for row in exact.rows)
    assert summary.busy_ns == exact.union(lambda row: True)
    assert {row.id: (row.count, row.ns, row.union_ns) for row in summary.classes} == exact.classes()
    assert {name: getattr(summary.idle, f"{name}_ns") for name in exact.idle()} == exact.idle()
    assert (summary.communication.exposed_ns if summary.communication else 0) == exact.exposed()
    assert [step.ns for step in summary.steps] == [
        sum(row.duration for row in exact.rows if row.step == number) for number in range(len(exact.steps))
    ]
    phases = {row.phase: (row.ns, row.busy_ns) for row in summary.phases}
    assert {"outside": (0, 0), **phases} == {"outside": (0, 0), **exact.phases()}
    check_memory(summary, exact)


def check_memory(summary: TraceSummary, exact: Exact) -> None:
    for device in summary.memory:
        pairs = exact.memory[device.device]
        top = max(reserved for _, reserved in pairs)
        assert device.samples == len(pairs)
        assert device.peak_allocated_bytes == max(allocated for allocated, _ in pairs)
        assert device.peak_reserved_bytes == top
        assert device.allocated_at_peak_reserved_bytes == max(a for a, reserved in pairs if reserved == top)


def exact_of(text: str) -> Exact:
    return Exact(load(text), classify)


IN_EVERY_CLONE = {
    "h200_m1b_eager.json.gz": 4,
    "h200_m8b_graph.json.gz": 4,
    "tp2_h200/healthy/rank0.pt.trace.json.gz": 8,
    "tp2_h200/neighbour/rank1.pt.trace.json.gz": 6,
    "tp2_h200/eager/rank0.pt.trace.json.gz": 3,
}


@pytest.mark.parametrize("name", IN_EVERY_CLONE)
def test_figures_of_the_traces_that_every_clone_has(data: Path, name: str) -> None:
    path = data / "traces" / name
    summary = summarise(read_kineto(path))
    with gzip.open(path, "rt", encoding="utf-8") as file:
        check(summary, exact_of(file.read()))
    assert len(summary.steps) == IN_EVERY_CLONE[name]


@pytest.mark.parametrize("name", REAL)
def test_figures_of_real_traces_are_exact(shared: Path, name: str) -> None:
    path = shared / "traces" / name
    summary = summarise(read_kineto(path))
    with gzip.open(path, "rt", encoding="utf-8") as file:
        exact = exact_of(file.read())
    if exact.steps:
        check(summary, exact)
    else:  # PyTorch's ProfilerStep, which the reference does not know
        assert all(step.phase == "other" for step in summary.steps)
        check_without_steps(summary, exact)


def check_without_steps(summary: TraceSummary, exact: Exact) -> None:
    assert summary.events == exact.events
    assert summary.ns == sum(row.duration for row in exact.rows)
    assert summary.busy_ns == exact.union(lambda row: True)
    assert {row.id: (row.count, row.ns, row.union_ns) for row in summary.classes} == exact.classes()
    assert (summary.communication.exposed_ns if summary.communication else 0) == exact.exposed()
    expected = exact.idle()
    assert summary.idle.idle_ns == expected["idle"]
    assert summary.idle.launch_ns + summary.idle.between_steps_ns == expected["launch"]
    assert (summary.idle.copy_ns, summary.idle.device_ns) == (expected["copy"], expected["device"])
    check_memory(summary, exact)


def test_eight_real_ranks_are_exact(shared: Path, tmp_path: Path) -> None:
    with lzma.open(shared / "traces/public/dlrm_8_ranks.tar.xz") as packed, tarfile.open(fileobj=packed) as files:
        files.extractall(tmp_path, filter="data")
    paths = sorted(tmp_path.glob("*.json"))
    assert len(paths) == 8
    for path in paths:
        check_without_steps(summarise(read_kineto(path)), exact_of(path.read_text("utf-8")))


def test_the_all_reduce_that_has_no_nccl_in_its_name_is_seen(shared: Path) -> None:
    summary = summarise(read_kineto(shared / "traces/public/vllm_b200_tp8_rank0_eager.json.gz"))
    assert summary.communication is not None
    assert round(summary.communication.share, 3) == 0.184
    assert summary.communication.exposed_ns == 2_141_501


def test_kernels_belong_to_the_step_that_launched_them(shared: Path) -> None:
    """Under asynchronous scheduling no kernel of this trace runs during its own step's annotation."""
    summary = summarise(read_kineto(shared / "traces/public/vllm_mi300x_prefilldecode_piecewise.json.gz"))
    (step,) = summary.steps
    assert step.ns == summary.ns
    assert step.gpu_start_ns is not None
    assert step.gpu_start_ns > step.start_ns + step.host_ns
    assert (step.phase, step.context_requests, step.generation_requests) == ("mixed", 9, 37)


def test_the_eager_server_is_launch_bound_and_the_graphed_one_is_not(shared: Path) -> None:
    eager, graphed = (summarise(read_kineto(shared / "traces" / name)) for name in REAL[:2])
    assert eager.idle.launch_ns > 0.8 * eager.window_ns
    assert graphed.idle.launch_ns < 0.05 * graphed.window_ns
    assert eager.launches.graph_kernels == 0
    decode = next(phase for phase in graphed.phases if phase.phase == "decode")
    assert decode.graph_share > 0.99


def test_shapes_give_a_roofline(shared: Path) -> None:
    path = shared / "traces/public/h100_qwen_0.5b.json.gz"
    roofline = with_roofline(summarise(read_kineto(path)), path).roofline
    largest = roofline[0]
    assert largest.operation == "aten::mm (16 bit)"
    assert largest.flop_ratio == pytest.approx(largest.flop_per_s / 9.89e14)
    assert 0.5 < largest.flop_ratio < 0.8


# made traces

NAMES = ("ncclDevKernel_AllReduce", "flash_fwd_kernel", "nvjet_tst", "vllm::rms_norm_kernel<int>", "odd")
TIMES = st.integers(0, 60).map(lambda n: n / 1000) | st.integers(0, 3000).map(lambda n: n / 10)


@st.composite
def gpu_events(draw: st.DrawFn) -> dict[str, Any]:
    start, duration, link = draw(TIMES), draw(TIMES), draw(st.integers(-1, 12))
    if draw(st.booleans()):
        event = chrome_trace.kernel(draw(st.sampled_from(NAMES)), start, duration, link, device=draw(st.integers(0, 1)))
    else:
        event = chrome_trace.memcpy(
            draw(st.sampled_from(["HtoD (Pinned -> Device)", "DtoH"])), start, duration, 8, link
        )
    for key in draw(st.sets(st.sampled_from(["dur", "name", "args", "tid", "ts"]), max_size=1)):
        del event[key]
    return event


@st.composite
def host_events(draw: st.DrawFn) -> dict[str, Any]:
    start, duration = draw(TIMES), draw(TIMES)
    if draw(st.booleans()):
        name = draw(st.sampled_from(["cudaLaunchKernel", "cudaMemcpy", "cudaMemcpyAsync", "cudaGraphLaunch"]))
        return chrome_trace.call(name, start, duration, draw(st.integers(0, 12)), draw(st.integers(1, 2)))
    name = draw(st.sampled_from(["execute_context_1(9)_generation_0(0)", "execute_context_0(0)_generation_4(4)", "x"]))
    return chrome_trace.annotation(name, start, duration, draw(st.integers(1, 2)))


OPERATOR = {"ph": "X", "cat": "cpu_op", "name": 'quoted "x" \\ \n', "pid": 1, "tid": 1, "ts": 1.0, "dur": 2.0}
LATE_PHASE = {"name": "args first", "args": {"ph": "X"}, "ph": "X", "cat": "kernel", "ts": 1.5, "dur": 0.001, "pid": 3}
OTHERS = st.sampled_from(
    [
        {"ph": "M", "name": "process_name", "pid": 1, "args": {"name": "a } , { b"}},
        {"ph": "s", "id": 3, "pid": 1, "tid": 1, "ts": 4.5, "cat": "ac2g", "name": "ac2g"},
        OPERATOR | {"args": {"a": [{"b": {}}, {"c": [{}, {}]}]}},
        LATE_PHASE,
        chrome_trace.instant(0, 5, 9),
        chrome_trace.instant(0, 7, 9),
        chrome_trace.instant(0, 3, 3, kind=0),
    ]
)


@given(
    events=st.lists(st.one_of(gpu_events(), host_events(), OTHERS), max_size=40),
    layout=st.sampled_from(chrome_trace.LAYOUTS),
    shift=st.sampled_from([0, 1_700_000_000_000_000]),
    block=st.sampled_from([64, 1000, 5000, 512 * 1024]),
)
@settings(max_examples=400)
def test_figures_of_made_traces_are_exact(
    tmp_path_factory: pytest.TempPathFactory, events: list[dict[str, Any]], layout: str, shift: int, block: int
) -> None:
    text = chrome_trace.render(chrome_trace.document(events), layout).decode()
    # Epoch microseconds with a fraction cannot be held by a float64, so they are moved on in the text.
    text = re.sub(r'("ts":\s*)(\d+(?:\.\d+)?)', lambda m: m.group(1) + str(Decimal(m.group(2)) + shift), text)
    path = chrome_trace.write(tmp_path_factory.mktemp("made"), text.encode())
    check(summarise(read_kineto(path, ReadLimits(block_bytes=block))), exact_of(text))
