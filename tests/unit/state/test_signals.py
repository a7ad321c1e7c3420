"""Samples of GPU, host and client on the scrapes' intervals."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from whystall.model.recording import ClientColumns, GpuColumns, HostColumns, ProcessColumns
from whystall.state.signals import client_state, gpu_state, host_state

COLUMNS = (
    *("util_ratio", "mem_util_ratio", "mem_used_bytes", "mem_total_bytes", "power_w", "power_limit_w"),
    *("temp_c", "sm_clock_hz", "mem_clock_hz", "pcie_tx_bytes_per_s", "pcie_rx_bytes_per_s"),
)
EDGES = np.array([100.0, 101.0, 102.0, 104.0])


def gpu(t, bits=None, device=None, **columns):
    n = len(t)
    floats = {name: np.full(n, np.nan) for name in COLUMNS}
    return GpuColumns(
        t=np.asarray(t, dtype=float),
        gpu=np.zeros(n, dtype=np.int64) if device is None else np.asarray(device),
        name=("NVIDIA H200",) * n,
        throttle_reasons=np.asarray([-1] * n if bits is None else bits),
        **{**floats, **{name: np.asarray(value, dtype=float) for name, value in columns.items()}},
    )


def host(t, processes=(), **columns):
    nothing = np.full(len(t), np.nan)
    return HostColumns(
        t=np.asarray(t, dtype=float),
        load1=np.asarray(columns.pop("load1", nothing)),
        cpus=columns.pop("cpus", 4),
        busy_ratio=np.asarray(columns.pop("busy_ratio", nothing)),
        processes=tuple(processes),
        **columns,
    )


def process(role, cpu, **more):
    cpu = np.asarray(cpu, dtype=float)
    return ProcessColumns(role, 1, role, cpu, np.full(len(cpu), 1e9), **more)


def client(sent, e2e=1.0, ttft=0.1, error=None, intended=None):
    n = len(sent)
    sent = np.asarray(sent, dtype=float)
    column = np.full(n, 10.0)
    return ClientColumns(
        intended=sent if intended is None else np.asarray(intended, dtype=float),
        sent=sent,
        prompt_tokens=column,
        output_tokens=column,
        chunks=column,
        ttft_s=np.broadcast_to(np.asarray(ttft, dtype=float), n),
        e2e_s=np.broadcast_to(np.asarray(e2e, dtype=float), n),
        itl_p50_s=column,
        itl_p99_s=column,
        itl_max_s=column,
        error=tuple(error or (None,) * n),
    )


def test_a_sample_belongs_to_the_interval_that_it_ends_in():
    state = gpu_state(gpu([99.0, 100.0, 100.5, 101.0, 101.5, 103.0, 104.0, 104.5], power_w=range(8)), EDGES)
    np.testing.assert_array_equal(state.power_w, [2.5, 4.0, 5.5])


def test_devices_are_averaged_and_counted():
    state = gpu_state(gpu([100.5, 100.5], device=[0, 1], util_ratio=[0.2, 0.6]), EDGES)
    np.testing.assert_array_equal(state.util_ratio, [0.4, np.nan, np.nan])
    assert state.devices == 2


def test_throttle_bits_are_joined_and_unseen_ones_say_nothing():
    state = gpu_state(gpu([100.2, 100.4, 101.5], bits=[0x4, 0x20, -1]), EDGES)
    assert state.throttle_bits.tolist() == [0x24, -1, -1]


def test_the_highest_clock_is_the_boards_where_it_is_known():
    samples = gpu([99.0, 100.5, 101.5], sm_clock_hz=[1.9e9, 1.2e9, 0.0])
    assert gpu_state(samples, EDGES).max_clock_hz == 1.9e9
    np.testing.assert_array_equal(gpu_state(samples, EDGES).sm_clock_hz, [1.2e9, np.nan, np.nan])


def test_a_clock_or_power_limit_of_zero_was_not_told():
    state = gpu_state(gpu([100.5], sm_clock_hz=[0], power_limit_w=[0]), EDGES)
    assert np.isnan(state.max_clock_hz)
    assert np.isnan(state.power_limit_w).all()


@pytest.mark.parametrize("samples", [None, gpu([]), gpu([10.0, 500.0])])
def test_no_gpu_sample_in_the_window_is_no_gpu(samples):
    assert gpu_state(samples, EDGES) is None


@given(st.lists(st.floats(0, 4), min_size=4, max_size=12), st.floats(-0.4, 0.4))
def test_a_steady_process_has_its_rate_wherever_the_samples_fall(offsets, shift):
    t = 98.0 + shift + np.arange(10.0)
    state = host_state(host(t, [process("engine", 0.7 * (t - 90))]), EDGES)
    np.testing.assert_allclose(state.engine_cores, 0.7)
    assert np.isnan(state.api_cores).all()


def test_the_busiest_process_of_a_role_counts():
    t = np.arange(99.0, 106.0)
    state = host_state(host(t, [process("api", 0.3 * t), process("api", 0.9 * t), process("worker", 0.5 * t)]), EDGES)
    np.testing.assert_allclose(state.api_cores, 0.9)
    np.testing.assert_allclose(state.worker_cores, 0.5)


def test_waiting_for_a_cpu_adds_up_over_the_servers_processes():
    t = np.arange(99.0, 106.0)
    processes = [process(role, t * 0, run_delay_s=0.1 * t) for role in ("api", "engine", "other")]
    state = host_state(host(t, processes, throttled_s=0.05 * t), EDGES)
    np.testing.assert_allclose(state.run_delay_ratio, 0.2)
    np.testing.assert_allclose(state.throttled_ratio, 0.05)


def test_a_counter_that_fell_and_times_outside_the_samples_are_unknown():
    t = np.array([100.0, 101.0, 102.0])
    state = host_state(host(t, [process("api", [5.0, 6.0, 0.5])]), EDGES)
    np.testing.assert_array_equal(np.isnan(state.api_cores), [False, True, True])


def test_gauges_of_the_host_by_core():
    t = np.array([100.5, 101.5, 103.0])
    processes = [
        process("api", t, allowed_cpus=3),
        process("engine", t, allowed_cpus=1),
        process("other", t, allowed_cpus=0),
    ]
    state = host_state(host(t, processes, load1=[4.0, 8.0, 2.0], busy_ratio=[0.5, 1.0, 0.1], cpus=4), EDGES)
    np.testing.assert_allclose(state.load_per_cpu, [1.0, 2.0, 0.5])
    np.testing.assert_allclose(state.busy_ratio, [0.5, 1.0, 0.1])
    np.testing.assert_allclose(state.rss_bytes, 3e9)
    assert state.allowed_cpus == 1
    assert np.isnan(host_state(host(t, cpus=None, load1=[1.0, 1, 1]), EDGES).load_per_cpu).all()


@pytest.mark.parametrize("samples", [None, host([100.5])])
def test_one_row_of_the_host_gives_no_rate(samples):
    assert host_state(samples, EDGES) is None


def test_the_clients_requests_by_interval():
    errors = (None, "503 Service Unavailable", "ClientOSError", None)
    state = client_state(client([100.5, 101.2, 101.4, 500.0], ttft=[0.1, 0.3, np.nan, 9.0], error=errors), EDGES)
    assert state.sent.tolist() == [1, 2, 0]
    assert state.errors.tolist() == [0, 2, 0]
    assert state.rejected.tolist() == [0, 1, 0]
    np.testing.assert_array_equal(state.ttft_mean_s, [0.1, 0.3, np.nan])
    assert len(state.rows.sent) == len(state.rows.error) == 3


def test_how_late_a_client_sends():
    state = client_state(client([100.5, 101.5], intended=[100.4, 101.0]), EDGES)
    assert state.send_lag_p99_s == pytest.approx(0.5, rel=0.02)


@given(st.lists(st.tuples(st.floats(100.1, 103.9), st.floats(0.01, 5)), min_size=1, max_size=15))
def test_most_requests_in_flight(requests):
    sent, spent = np.array(requests).T
    state = client_state(client(sent, e2e=spent), EDGES)
    brute = max(sum(s <= moment < s + e for s, e in requests) for moment in sent)
    assert state.max_in_flight == brute


@pytest.mark.parametrize("rows", [None, client([]), client([5.0, 900.0])])
def test_no_request_in_the_window_is_no_client(rows):
    assert client_state(rows, EDGES) is None
