from pathlib import Path

from chrome_trace import annotation, call, document, kernel, memcpy, render, write
from whystall.profiles.kineto import read_kineto
from whystall.profiles.linked import link


def test_work_is_joined_to_call_and_step(tmp_path: Path) -> None:
    events = [
        annotation("execute_context_0(0)_generation_4(4)", 0, 5),
        call("cudaGraphLaunch", 1, 1, 5),
        call("cudaMemcpy", 7, 1, 6),
        call("cudaMemcpyAsync", 8, 1, 7),
        call("cudaStreamSynchronize", 9, 1, 8),
        kernel("nccl", 2, 1, 5),
        kernel("a", 2, 1, 44),
        memcpy("DtoH", 7, 1, 4, 6),
    ]
    linked = link(read_kineto(write(tmp_path, render(document(events)))))
    assert linked.call.tolist() == [0, -1, 1]
    assert linked.step.tolist() == [0, -1, -1]
    assert linked.graph.tolist() == [True, False, False]
    assert linked.collective.tolist() == [True, False, False]
    assert linked.device_ids == (0,)
    assert linked.blocking_copies().tolist() == [False, True, False, False]
    assert linked.blocking_calls().tolist() == [False, True, False, True]
