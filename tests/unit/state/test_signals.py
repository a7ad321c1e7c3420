import numpy as np
import pytest

from whystall.model.recording import ClientColumns, GpuColumns, HostColumns, ProcessColumns
from whystall.state.signals import client_state, gpu_state, host_state

EDGES = np.array([100.0, 101.0, 102.0, 104.0])


def gpus(t: list[float], power: list[float], gpu: list[int] | None = None, bits: list[int] | None = None) -> GpuColumns:
    n = len(t)
    nothing = np.full(n, np.nan)
    return GpuColumns(
        t=np.array(t),
        gpu=np.array(gpu or [0] * n),
        name=("H200",) * n,
        util_ratio=np.full(n, 0.9),
        mem_util_ratio=nothing,
        mem_used_bytes=np.linspace(1e9, 2e9, n),
        mem_total_bytes=np.full(n, 5e9),
        power_w=np.array(power),
        power_limit_w=np.full(n, 700.0),
        temp_c=nothing,
        sm_clock_hz=np.full(n, 1.5e9),
        mem_clock_hz=nothing,
        throttle_reasons=np.array(bits or [0] * n),
        pcie_tx_bytes_per_s=nothing,
        pcie_rx_bytes_per_s=nothing,
        sm_max_clock_hz=1.98e9,
    )


def test_gpu_samples_fall_into_their_intervals() -> None:
    state = gpu_state(gpus([100.5, 101.0, 101.5, 105.0], [100, 200, 500, 9999], bits=[1, 4, -1, 8]), EDGES)
    assert state is not None
    assert state.power_w[:2].tolist() == [150, 500]  # an edge belongs to the interval that it ends
    assert np.isnan(state.power_w[2])
    assert state.throttle_bits.tolist() == [5, -1, -1]
    assert (state.max_clock_hz, state.mem_total_bytes) == (1.98e9, 5e9)


def test_gpus_are_averaged_and_counted() -> None:
    state = gpu_state(gpus([100.5, 100.5], [100, 300], gpu=[0, 1]), EDGES)
    assert state is not None
    assert (state.power_w[0], state.devices) == (200, 2)


def test_no_gpu_sample_in_the_window() -> None:
    assert gpu_state(None, EDGES) is None
    assert gpu_state(gpus([], []), EDGES) is None
    assert gpu_state(gpus([99.0, 200.0], [1, 1]), EDGES) is None


def process(
    role: str, cpu_s: list[float], delay: list[float] | None = None, allowed: int | None = None
) -> ProcessColumns:
    n = len(cpu_s)
    waited = np.array(delay) if delay else None
    return ProcessColumns(role, 1, role, np.array(cpu_s), np.full(n, 1e9), waited, allowed)


def host(*processes: ProcessColumns, t: tuple[float, ...] = (100, 101, 102, 103, 104)) -> HostColumns:
    n = len(t)
    return HostColumns(
        t=np.array(t, dtype=float),
        load1=np.full(n, 4.0),
        cpus=8,
        busy_ratio=np.full(n, 0.5),
        processes=processes,
        throttled_s=np.arange(n) * 0.25,
    )


def test_cores_are_rates_of_cumulative_seconds() -> None:
    state = host_state(host(process("engine", [0, 1, 2, 2.5, 3], delay=[0, 0.5, 0.5, 0.5, 0.5])), EDGES)
    assert state is not None
    assert np.allclose(state.engine_cores, [1, 1, 0.5])
    assert np.allclose(state.run_delay_ratio, [0.5, 0, 0])
    assert np.allclose(state.throttled_ratio, 0.25)
    assert np.allclose(state.load_per_cpu, 0.5)
    assert np.isnan(state.api_cores).all()


def test_the_busiest_process_of_a_role_counts() -> None:
    state = host_state(host(process("api", [0, 0.2, 0.4, 0.6, 0.8]), process("api", [0, 0.9, 1.8, 2.7, 3.6])), EDGES)
    assert state is not None
    assert np.allclose(state.api_cores, 0.9)


def test_the_tightest_affinity_of_the_server_counts() -> None:
    rows = [0.0] * 5
    state = host_state(
        host(process("engine", rows, allowed=4), process("api", rows, allowed=2), process("other", rows, allowed=1)),
        EDGES,
    )
    assert state is not None
    assert state.allowed_cpus == 2


def test_a_process_that_started_anew_has_no_rate_across_it() -> None:
    state = host_state(host(process("engine", [5, 6, 0.5, 1.5, 2.5])), EDGES)
    assert state is not None
    assert np.isnan(state.engine_cores[1])


def test_one_host_row_says_nothing() -> None:
    assert host_state(None, EDGES) is None
    assert host_state(host(t=(100,)), EDGES) is None


def clients(sent: list[float], e2e: list[float], error: list[str | None] | None = None) -> ClientColumns:
    n = len(sent)
    column = np.full(n, 0.1)
    return ClientColumns(
        intended=np.array(sent) - 0.05,
        sent=np.array(sent),
        prompt_tokens=np.full(n, 10.0),
        output_tokens=np.full(n, 20.0),
        chunks=column,
        ttft_s=column,
        e2e_s=np.array(e2e),
        itl_p50_s=column,
        itl_p99_s=column,
        itl_max_s=column,
        error=tuple(error or [None] * n),
    )


def test_client_rows_of_the_window() -> None:
    state = client_state(clients([99.0, 100.5, 100.6, 101.5], [1, 1, 1, 1]), EDGES)
    assert state is not None
    assert state.sent.tolist() == [2, 1, 0]
    assert len(state.rows.sent) == 3
    assert state.send_lag_p99_s == pytest.approx(0.05)


def test_errors_and_refusals() -> None:
    state = client_state(clients([100.5, 100.6, 100.7], [1, 1, 1], [None, "HTTP 503", "timeout"]), EDGES)
    assert state is not None
    assert (state.errors.sum(), state.rejected.sum()) == (2, 1)


@pytest.mark.parametrize(
    ("sent", "e2e", "open_at_once"),
    [([100.1, 100.2, 100.3], [1, 1, 1], 3), ([100.1, 100.2, 100.3], [0.1, 0.1, 0.1], 1), ([100.5, 101.0], [2, 0.1], 2)],
)
def test_most_requests_open_at_once(sent: list[float], e2e: list[float], open_at_once: int) -> None:
    state = client_state(clients(sent, e2e), EDGES)
    assert state is not None
    assert state.max_in_flight == open_at_once


def test_no_client_row_in_the_window() -> None:
    assert client_state(None, EDGES) is None
    assert client_state(clients([50.0], [1.0]), EDGES) is None
