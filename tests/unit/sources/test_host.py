"""Samples of the host and its processes to columns."""

import numpy as np

from recorded_text import T0, lines, scraped, write
from whystall.sources.files.recording import read_recording


def host(t, busy, **process):
    jiffies = {"user": busy, "idle": 100.0 * t - busy, "iowait": 0}
    processes = [{"name": "EngineCore_DP0", "pid": 7, "cpu_s": t, "rss_bytes": 5, **process}]
    return {"t": T0 + t, "loadavg": [1.5, 1, 1], "cpus": 4, "cpu_jiffies": jiffies, "processes": processes}


def test_host_rows(tmp_path):
    write(tmp_path, scraped(0))
    last = host(3, 150) | {
        "processes": [
            {"name": "VLLM::APIServer", "pid": 8, "cpu_s": 1},
            {"name": "Worker_TP0", "pid": 9},
            {"name": "sh", "pid": 1},
        ],
        "psi_cpu_some_s": 2.5,
        "cgroup": {"throttled_s": 1.0, "periods": 30, "throttled_periods": 10, "cpu_quota": 2.0},
        "mem_available_bytes": 1e9,
    }
    middle = host(2, 100, run_delay_s=0.5, allowed_cpus=2) | {
        "psi_cpu_some_s": 2.0,
        "cgroup": {"throttled_s": 0.5, "periods": 20, "throttled_periods": 5},
    }
    write(tmp_path, lines(host(1, 50), middle, last), "host.jsonl")
    found = read_recording(tmp_path).host
    np.testing.assert_allclose(found.busy_ratio, [np.nan, 0.5, 0.5])
    assert found.load1.tolist() == [1.5, 1.5, 1.5]
    assert (found.cpus, found.cpu_quota) == (4, 2.0)
    engine, api, worker, other = found.processes
    assert [process.role for process in (engine, api, worker, other)] == ["engine", "api", "worker", "other"]
    np.testing.assert_array_equal(engine.cpu_s, [1, 2, np.nan])
    np.testing.assert_array_equal(engine.run_delay_s, [np.nan, 0.5, np.nan])
    assert engine.allowed_cpus == 2
    np.testing.assert_array_equal(found.psi_cpu_ratio, [np.nan, np.nan, 0.5])
    np.testing.assert_array_equal(found.throttled_periods_ratio, [np.nan, np.nan, 0.5])
    np.testing.assert_array_equal(found.throttled_s, [np.nan, 0.5, 1.0])
    assert found.mem_available_bytes[2] == 1e9
