import os
import time
from pathlib import Path

import msgspec
import pytest

from whystall.sources.host import HostRow, host_columns
from whystall.sources.live.host import HostSampler
from whystall.sources.live.processes import ServerProcess, ServerProcesses

SERVER = ServerProcesses((ServerProcess(7, "EngineCore", "engine"), ServerProcess(8, "helper", "other")))
FILES = {
    "loadavg": "1.5 2 3 1/2 3\n",
    "stat": "cpu  100 1 50 800 10 0 5 3 0 0\ncpu0 1 1\n",
    "pressure/cpu": "some avg10=0.00 avg60=0.00 avg300=0.00 total=2500000\nfull avg10=0 total=9\n",
    "meminfo": "MemTotal: 10 kB\nMemAvailable:     2048 kB\n",
    "7/stat": f"7 (VLLM) :: (x) S {' '.join(str(n) for n in range(4, 53))}",
    "7/schedstat": "5 3000000000 7\n",
    "7/cgroup": "0::/c\n",
}


@pytest.fixture
def proc(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        path = tmp_path / "proc" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (tmp_path / "cg" / "c").mkdir(parents=True)
    (tmp_path / "cg" / "c" / "cpu.max").write_text("200000 100000")
    (tmp_path / "cg" / "c" / "cpu.stat").write_text("nr_periods 4\nnr_throttled 1\nthrottled_usec 500000\n")
    return tmp_path / "proc"


def test_a_row_of_everything(proc: Path) -> None:
    row = HostSampler(SERVER, proc, proc.parent / "cg").sample(5.0)
    tick = os.sysconf("SC_CLK_TCK")
    assert row["loadavg"] == [1.5, 2.0, 3.0]
    assert row["cpu_jiffies"] == {
        "user": 100,
        "nice": 1,
        "system": 50,
        "idle": 800,
        "iowait": 10,
        "irq": 0,
        "softirq": 5,
        "steal": 3,
    }
    assert row["psi_cpu_some_s"] == 2.5
    assert row["mem_available_bytes"] == 2048 * 1024
    assert row["cgroup"] == {"periods": 4.0, "throttled_periods": 1.0, "throttled_s": 0.5, "cpu_quota": 2.0}
    (process,) = row["processes"]  # the other one has ended
    assert process["cpu_s"] == pytest.approx((14 + 15) / tick, abs=1e-3)
    assert process["rss_bytes"] == 24 * os.sysconf("SC_PAGE_SIZE")
    assert process["run_delay_s"] == 3.0
    assert (process["name"], process["role"], process["pid"]) == ("EngineCore", "engine", 7)


def test_what_cannot_be_read_is_missing_and_not_zero(tmp_path: Path) -> None:
    row = HostSampler(SERVER, tmp_path, tmp_path).sample(5.0)
    assert row == {"t": 5.0, "cpus": os.cpu_count(), "processes": []}
    columns = host_columns([msgspec.convert(row, HostRow)])
    assert columns is not None
    assert columns.psi_cpu_ratio is None
    assert columns.throttled_s is None


def test_this_host_and_process_over_time() -> None:
    me = ServerProcesses((ServerProcess(os.getpid(), "APIServer", "api"),))
    sampler = HostSampler(me)
    rows = [sampler.sample(0.0)]
    busy = time.process_time()
    while time.process_time() - busy < 0.2:
        pass
    rows.append(sampler.sample(1.0))
    columns = host_columns([msgspec.convert(row, HostRow) for row in rows])
    assert columns is not None
    (process,) = columns.processes
    assert process.cpu_s[1] - process.cpu_s[0] >= 0.15
    assert process.rss_bytes[0] > 1e6
    assert process.role == "api"
    assert process.allowed_cpus == len(os.sched_getaffinity(0))
