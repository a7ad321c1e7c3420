import pytest

from scenes import evidence_of

SLOW = {"seconds": 30, "front_s": 0.7}


@pytest.mark.parametrize(
    ("id", "change"),
    [
        ("api.core", {"api_cores": 1.0}),
        ("engine.core", {"engine_cores": 1.0, "host_busy": 0.4}),
        ("cpu.run_delay", {"run_delay": 0.6, "host_busy": 0.9}),
        ("cpu.throttled", {"throttled": 0.4, "host_busy": 0.4}),
        ("cpu.crowded", {"host_busy": 1.0, "load_per_cpu": 3.0}),
    ],
)
def test_a_shortage_speaks_and_its_absence_speaks_against(id: str, change: dict) -> None:
    assert evidence_of({**SLOW, **change})[id].strength > 0.4
    spared = {"api_cores": 0.1, "engine_cores": 0.2, "host_busy": 0.2, "run_delay": 0.0, "throttled": 0.0}
    assert evidence_of({**SLOW, **spared})[id].strength < 0


def test_without_the_host_there_is_no_evidence_of_it() -> None:
    found = evidence_of(SLOW)
    assert "engine.core" not in found
    assert "cpu.run_delay" not in found
    assert "cpu.crowded" not in found


def test_the_kernels_pressure_speaks_only_where_users_lose() -> None:
    host = {"host_busy": 0.9, "pressure": 0.6}
    assert evidence_of({**SLOW, **host})["cpu.pressure"].strength > 1
    assert evidence_of({"seconds": 30, **host})["cpu.pressure"].strength == 0
    assert evidence_of({**SLOW, "host_busy": 0.2, "pressure": 0.0})["cpu.pressure"].strength == -0.3
    assert "cpu.pressure" not in evidence_of({**SLOW, "host_busy": 0.2})


def test_periods_and_the_process_that_waits_most_are_named() -> None:
    found = evidence_of({**SLOW, "host_busy": 0.5, "throttled": 0.4, "throttled_periods": 0.8, "run_delay": 0.5})
    assert "in 80% of its periods" in found["cpu.throttled"].text.en
    assert "most of it EngineCore: 0.50 s" in found["cpu.run_delay"].text.en


def test_a_loop_that_polls_for_a_busy_gpu_fills_its_core_too() -> None:
    # an H200 with an 8B model: 1.03 cores at steps of 5 ms, and the GPU busy for 97% of the time
    host = {"engine_cores": 1.0, "host_busy": 0.1}
    polls = evidence_of({**SLOW, **host, "gpu": {"util": 0.97, "power": 600}})["engine.core"]
    assert polls.strength == 0
    assert "polls for a GPU that is busy 97%" in polls.text.en
    assert evidence_of({**SLOW, **host, "gpu": {"util": 0.4, "power": 300}})["engine.core"].strength > 1


def test_a_front_end_in_time_does_not_excuse_a_process_that_the_kernel_keeps_waiting() -> None:
    """The engine's process may be the one without a CPU: then nothing waits before it."""
    calm = {"seconds": 30, "api_cores": 0.1, "host_busy": 0.1}
    assert evidence_of({**calm, "run_delay": 0.0})["cpu.wanted"].strength < 0
    assert evidence_of({**calm, "run_delay": 0.8})["cpu.wanted"].strength == 0
