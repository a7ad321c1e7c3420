"""Exporters' series as GPU and host columns."""

from __future__ import annotations

import numpy as np
import pytest

from whystall.model.recording import SeriesKey, SeriesTable
from whystall.sources.hardware.columns import gpu_of, host_of
from whystall.sources.hardware.dcgm import gpu_rows, xid_lines
from whystall.sources.hardware.nodes import host_rows
from whystall.sources.hardware.ray_node import gpu_rows as ray_gpu_rows
from whystall.sources.hardware.samples import Samples

A = {"gpu": "0", "UUID": "GPU-a", "Hostname": "n1", "modelName": "NVIDIA H200"}
B = A | {"gpu": "1", "UUID": "GPU-b"}


def table(*rows, step=15.0):
    """(name, labels, values)."""
    keys = tuple(SeriesKey(name, tuple(sorted(labels.items()))) for name, labels, _ in rows)
    values = np.array([values for *_, values in rows], dtype=float)
    return SeriesTable(np.arange(values.shape[1]) * step, keys, values)


def test_dcgms_units_are_ours():
    gpu = gpu_of(
        table(
            ("DCGM_FI_DEV_GPU_UTIL", A, [97, 99]),
            ("DCGM_FI_DEV_GPU_UTIL", B, [10, np.nan]),
            ("DCGM_FI_DEV_MEM_COPY_UTIL", A, [30, 40]),
            ("DCGM_FI_PROF_DRAM_ACTIVE", A, [0.8, 0.9]),
            ("DCGM_FI_DEV_FB_USED", A, [1024, 1024]),
            ("DCGM_FI_DEV_FB_FREE", A, [512, 512]),
            ("DCGM_FI_DEV_POWER_USAGE", A, [700, 690]),
            ("DCGM_FI_DEV_SM_CLOCK", A, [1980, 1410]),
            ("DCGM_FI_DEV_CLOCKS_EVENT_REASONS", A, [0, 0x40]),
            ("DCGM_FI_PROF_PCIE_TX_BYTES", A, [5e9, 6e9]),
        )
    )
    assert gpu.gpu.tolist() == [0, 1, 0]
    assert gpu.util_ratio.tolist() == pytest.approx([0.97, 0.1, 0.99])
    assert gpu.mem_util_ratio[[0, 2]].tolist() == pytest.approx([0.8, 0.9])  # bandwidth, not the time of any copy
    assert gpu.mem_used_bytes[0] == 2**30
    assert gpu.mem_total_bytes[0] == 1.5 * 2**30
    assert gpu.sm_clock_hz[2] == 1.41e9
    assert gpu.throttle_reasons.tolist() == [0, -1, 0x40]
    assert gpu.pcie_tx_bytes_per_s[0] == 5e9
    assert np.isnan(gpu.temp_c).all()


def test_violations_in_nanoseconds_stand_for_the_reasons():
    rows = gpu_rows(
        table(
            ("DCGM_FI_DEV_SM_CLOCK", A, [1980, 1980, 1410]),
            ("DCGM_FI_DEV_THERMAL_VIOLATION", A, [0, 0, 9e9]),
            ("DCGM_FI_DEV_POWER_VIOLATION", A, [5, 5, 5]),
        )
    )
    assert [row.throttle_reasons for row in rows] == [None, 0, 0x20]


def test_a_violation_whose_unit_cannot_be_told_says_nothing():
    """9 ms of 15 s in nanoseconds, or 9 s of them in microseconds."""
    rows = gpu_rows(table(("DCGM_FI_DEV_SM_CLOCK", A, [1, 1, 1]), ("DCGM_FI_DEV_THERMAL_VIOLATION", A, [0, 9e6, 9e6])))
    assert [row.throttle_reasons for row in rows] == [None, None, 0]


def test_a_new_xid_is_a_line_of_the_kernel_and_an_old_one_is_not():
    lines = xid_lines(
        table(("DCGM_FI_DEV_XID_ERRORS", A, [13, 13, 79, 79]), ("DCGM_FI_DEV_XID_ERRORS", B, [0, 0, 0, 0]))
    )
    assert [(line.t, line.text) for line in lines] == [(30.0, "NVRM: Xid (DCGM, GPU 0): 79")]


def test_node_exporter_and_cadvisor():
    cpu = [
        ("node_cpu_seconds_total", {"cpu": c, "mode": m}, [start, start + rise])
        for c in "01"
        for m, start, rise in (("user", 100, 9), ("idle", 500, 6), ("iowait", 1, 0))
    ]
    host = host_of(
        table(
            *cpu,
            ("node_load1", {}, [3.0, 4.0]),
            ("node_memory_MemAvailable_bytes", {}, [5e9, 4e9]),
            ("node_pressure_cpu_waiting_seconds_total", {}, [1.0, 4.0]),
            ("container_cpu_cfs_throttled_seconds_total", {"pod": "v"}, [0.0, 6.0]),
            ("container_cpu_cfs_periods_total", {"pod": "v"}, [0.0, 150.0]),
            ("container_cpu_cfs_throttled_periods_total", {"pod": "v"}, [0.0, 75.0]),
            ("container_spec_cpu_quota", {"pod": "v"}, [400_000, 400_000]),
            ("container_spec_cpu_period", {"pod": "v"}, [100_000, 100_000]),
        )
    )
    assert host.cpus == 2
    assert host.busy_ratio[1] == pytest.approx(0.6)
    assert host.psi_cpu_ratio[1] == pytest.approx(0.2)
    assert host.throttled_periods_ratio[1] == 0.5
    assert host.cpu_quota == 4
    assert host.load1.tolist() == [3.0, 4.0]


def test_what_is_missing_is_not_zero():
    nothing = table(("up", {}, [1, 1]))
    assert gpu_of(nothing) is None
    assert host_of(nothing) is None
    (row, _) = host_rows(table(("node_load1", {}, [1, 1])))
    assert (row.cpus, row.mem_available_bytes, row.psi_cpu_some_s) == (None, None, None)


def test_rays_own_figures():
    gpu = {"GpuIndex": "3", "GpuDeviceName": "H200", "ip": "n"}
    seen = table(
        ("ray_node_gpus_utilization", gpu, [50, 60]),
        ("ray_node_gram_used", gpu, [1024, 1024]),
        ("ray_node_gram_available", gpu, [1024, 1024]),
        ("ray_node_gpu_power_milliwatts", gpu, [300_000, 310_000]),
        ("ray_node_cpu_utilization", {}, [10.0, 80.0]),
        ("ray_node_cpu_count", {}, [8, 8]),
    )
    row = ray_gpu_rows(seen)[0]
    assert (row.gpu, row.name, row.util_gpu_pct, row.mem_total_bytes, row.power_w) == (3, "H200", 50, 2 * 2**30, 300)
    assert host_of(seen).busy_ratio[1] == pytest.approx(0.8)


def test_a_sum_of_nothing_is_nothing():
    samples = Samples(table(("a", {"x": "1"}, [np.nan, 1]), ("a", {"x": "2"}, [np.nan, 2])))
    assert np.isnan(samples.total("a")[0])
    assert samples.total("a")[1] == 3
    assert samples.total("b") is None
