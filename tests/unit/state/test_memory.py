import msgspec
import pytest

from cases.window import recording_of
from whystall.model.configuration import Configuration
from whystall.model.diagnosis import GpuMemory
from whystall.state.engine import engine_states
from whystall.state.memory import gpu_memory

PHASE = {"seconds": 5, "running": 1, "rate": 1.0}
GPU = {"gpu": {"mem_used": 90e9, "mem_total": 100e9}}
LOGGED = Configuration(weights_bytes=16e9, kv_cache_bytes=60e9, graph_bytes=1e9)


def memory(phase: dict, configuration: Configuration) -> GpuMemory | None:
    return gpu_memory(engine_states(recording_of({"phases": [phase]}), configuration)[0])


def parts(found: GpuMemory | None) -> dict[str, float]:
    assert found is not None
    return {part.id: part.bytes for part in found.parts}


def test_the_parts_sum_to_the_card() -> None:
    found = memory({**PHASE, **GPU}, LOGGED)
    assert parts(found) == {"weights": 16e9, "kv": 60e9, "graphs": 1e9, "other": 13e9, "free": 10e9}
    assert found is not None
    assert sum(parts(found).values()) == pytest.approx(found.total_bytes)


def test_the_log_alone() -> None:
    found = memory(PHASE, LOGGED)
    assert parts(found) == {"weights": 16e9, "kv": 60e9, "graphs": 1e9}
    assert found is not None
    assert found.total_bytes is None


def test_nvml_alone() -> None:
    assert parts(memory({**PHASE, **GPU}, Configuration())) == {"other": 90e9, "free": 10e9}


def test_neither() -> None:
    assert memory(PHASE, Configuration()) is None


def test_what_the_log_plans_above_what_is_used_is_never_negative() -> None:
    planned = msgspec.structs.replace(LOGGED, kv_cache_bytes=90e9)
    assert parts(memory({**PHASE, **GPU}, planned))["other"] == 0
