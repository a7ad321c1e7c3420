"""The server's processes do not get the cores that they need."""

from __future__ import annotations

from collections.abc import Iterator

from whystall.model.text import Text
from whystall.remedies.candidate import Candidate, act
from whystall.remedies.situation import Situation

# API and engine each fill a core of their own; one more for the system (vllm.md 5.4).
SPARE = 3

_CORES = Text(
    "Give the server {cores} cores: lift the cgroup's CPU quota or the affinity mask, and move others off these cores",
    "给服务器 {cores} 个核：放宽 cgroup CPU 配额或亲和性掩码，并把其他进程移开",
)
_BUYS = Text("the GPU no longer waits for the host", "GPU 不再等待主机")
_QUOTA = Text(
    "the GPU no longer waits for the host, which may use {now:.1f} cores now",
    "GPU 不再等待主机；目前只允许使用 {now:.1f} 个核",
)
_RISK = Text("takes cores from what runs beside it", "占用同机其他进程的核")


def candidates(case: Situation) -> Iterator[Candidate]:
    """A core for the API, for the engine and for each worker, and one to spare."""
    ranks = (case.setup.number("tensor_parallel_size") or 1) * (case.setup.number("pipeline_parallel_size") or 1)
    servers = case.setup.number("api_server_count") or 1
    cores = int(ranks + servers - 1 + SPARE)
    host = case.state.host
    now = host.cpu_quota or host.allowed_cpus if host is not None else None
    buys = _QUOTA.format(now=now) if now and now < cores else _BUYS
    yield act("host", "host.cores", _CORES.format(cores=cores), buys, _RISK)
