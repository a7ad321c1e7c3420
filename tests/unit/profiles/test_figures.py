import json
from pathlib import Path

import pytest

from chrome_trace import document, kernel, render, write
from whystall.profiles.figures import TraceFigures, trace_figures
from whystall.profiles.files import TraceOptions, report_of


def of(*paths: Path) -> TraceFigures:
    return trace_figures(report_of(list(paths), TraceOptions()))


def test_a_launch_bound_server(shared: Path) -> None:
    found = of(shared / "traces/h200_m1b_eager.pt.trace.json.gz")
    assert found.launch_idle_ratio == pytest.approx(0.852, abs=0.001)
    assert found.busy_ratio == pytest.approx(0.0534, abs=0.0001)
    assert (found.decode_graph_share, found.collective_gpu_share) == (0.0, 0.0)
    assert found.decode_step_s == pytest.approx(1.088e-3, rel=0.01)
    assert (found.straggler_rank, found.skew_ratio, found.memory_bandwidth_ratio) == (None, None, None)


def test_collectives_and_roofline(shared: Path) -> None:
    found = of(shared / "traces/public/vllm_b200_tp8_rank0_eager.json.gz")
    assert found.collective_gpu_share == pytest.approx(0.1836, abs=0.0001)
    assert found.exposed_collective_ratio == pytest.approx(2.1415 / 84.487, rel=0.001)
    assert found.prefill_gpu_share == 1.0
    assert found.compute_ratio is not None


def test_spans_of_requests(shared: Path) -> None:
    found = of(shared / "recordings/cpu_traced/spans.jsonl.gz")
    assert found.tail_phase == "decode"
    assert found.queue_share is not None
    assert found.queue_share < 0.01
    assert found.busy_ratio is None


def test_uneven_experts(tmp_path: Path) -> None:
    paths = []
    for rank, moe in enumerate((10, 30)):
        events = [kernel("fused_moe_kernel", 0, moe), kernel("ncclAllReduce", 50, 40 - moe)]
        header = {"distributedInfo": {"rank": rank, "world_size": 2}}
        paths.append(write(tmp_path, render(document(events, **header)), f"r{rank}.json"))
    found = of(*paths)
    assert (found.moe_spread, found.straggler_rank, found.skew_ratio) == (1.5, 1, 0.5)


def test_the_engine_loop(tmp_path: Path) -> None:
    frames = [{"name": "poll", "file": "zmq.py"}, {"name": "forward", "file": "v1/sample/sampler.py"}]
    frames.append({"name": "schedule", "file": "v1/core/sched/scheduler.py"})
    profile = {"type": "sampled", "unit": "none", "samples": [[0], [1], [2]], "weights": [2, 3, 1]}
    body = {"$schema": "speedscope.app", "shared": {"frames": frames}, "profiles": [profile]}
    (tmp_path / "s.json").write_text(json.dumps(body))
    found = of(tmp_path / "s.json")
    assert (found.sampling_python_share, found.scheduler_python_share, found.gc_python_share) == (0.75, 0.25, 0.0)
