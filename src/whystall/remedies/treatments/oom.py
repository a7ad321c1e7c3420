"""Memory ran out beside the pool."""

from __future__ import annotations

from collections.abc import Iterator

from whystall.model.text import Text
from whystall.remedies.candidate import Candidate, act, turned
from whystall.remedies.situation import Situation

# NCCL, graphs and fragments need some hundredths of the GPU.
LESS_SHARE = 0.05
LESS_BYTES = 0.9

_LESS = Text("leaves memory for what is beside the pool", "为块池之外留出显存")
_RISK = Text("fewer KV blocks", "KV 块减少")
_OTHERS = Text(
    "Look for other processes on the GPU (nvidia-smi) and stop them", "检查 GPU 上的其他进程（nvidia-smi）并停止"
)
_OTHERS_BUYS = Text("the memory that the server was promised is free", "服务器应得的显存得到释放")


def candidates(case: Situation) -> Iterator[Candidate]:
    """A smaller pool, by the flag that sizes it."""
    asked, share = case.setup.number("kv_cache_memory_bytes"), case.setup.number("gpu_memory_utilization")
    if case.setup.is_set("kv_cache_memory_bytes") and asked:
        yield turned(case, "kv_cache_memory_bytes", int(LESS_BYTES * asked), _LESS, _RISK)
    elif share and share > LESS_SHARE:
        yield turned(case, "gpu_memory_utilization", f"{share - LESS_SHARE:.2f}", _LESS, _RISK)
    yield act("host", "host.processes", _OTHERS, _OTHERS_BUYS)
