import msgspec
import numpy as np
import pytest

from states import blank
from whystall.model.configuration import Configuration
from whystall.model.engine_state import GpuState
from whystall.state.memory import gpu_memory

NOTHING = np.full(3, np.nan)
REPORTED = Configuration(weights_bytes=15e9, kv_cache_bytes=110e9, graph_bytes=0.5e9)


def gpu(used, total):
    return GpuState(*[NOTHING] * 6, np.full(3, -1), float("nan"), 1, "NVIDIA H200", used, total)


def test_the_parts_sum_to_the_card():
    memory = gpu_memory(blank(np.ones(3), configuration=REPORTED, gpu=gpu(140e9, 150e9)))
    assert {part.id: part.bytes for part in memory.parts} == {
        "weights": 15e9,
        "kv": 110e9,
        "graphs": 0.5e9,
        "other": pytest.approx(14.5e9),
        "free": 10e9,
    }
    assert sum(part.bytes for part in memory.parts) == pytest.approx(memory.total_bytes)
    assert {part.id for part in memory.parts if part.known == "inferred"} == {"other"}


def test_what_neither_source_says_is_left_out():
    assert gpu_memory(blank(np.ones(3))) is None
    assert gpu_memory(blank(np.ones(3), gpu=gpu(float("nan"), float("nan")))) is None
    log_alone = gpu_memory(blank(np.ones(3), configuration=REPORTED))
    assert log_alone.total_bytes is None
    assert [part.id for part in log_alone.parts] == ["weights", "kv", "graphs"]


def test_a_log_that_plans_more_than_is_used_leaves_no_negative_rest():
    low = msgspec.structs.replace(REPORTED, weights_bytes=90e9)
    memory = gpu_memory(blank(np.ones(3), configuration=low, gpu=gpu(140e9, 130e9)))
    assert min(part.bytes for part in memory.parts) == 0.0


def test_parts_are_named_in_two_languages():
    memory = gpu_memory(blank(np.ones(3), configuration=REPORTED, gpu=gpu(140e9, 150e9)))
    assert all(part.text.en and part.text.zh for part in memory.parts)


def test_nvml_alone_tells_used_from_free():
    memory = gpu_memory(blank(np.ones(3), gpu=gpu(90e9, 150e9)))
    assert {part.id: part.bytes for part in memory.parts} == {"other": 90e9, "free": 60e9}


def test_a_server_without_a_gpu_has_no_such_page():
    assert gpu_memory(blank(np.ones(3), configuration=msgspec.structs.replace(REPORTED, device="cpu"))) is None
