"""What was read, and what else would settle the open questions."""

from __future__ import annotations

from typing import get_args

from whystall.model.diagnosis import Coverage, Evidence, Missing, Signal
from whystall.model.engine_state import EngineState
from whystall.model.text import Text

from .entry import CauseEntry
from .information import PY_SPY, Doubt, of_a_process, worth

HOW = {
    "metrics": Text("give the server's address: its /metrics page", "给出服务器地址：其 /metrics 页面"),
    "gpu": Text(
        "run beside the server with the extra whystall[gpu], or record gpu.jsonl",
        "在服务器旁安装 whystall[gpu] 运行，或记录 gpu.jsonl",
    ),
    "host": Text("run beside the server: its processes' CPU is then read", "在服务器旁运行：将读取其各进程的 CPU"),
    "log": Text("--log FILE with the server's log", "--log FILE 指定服务器日志"),
    "config": Text(
        "--server-args with the command line, or VLLM_SERVER_DEV_MODE=1 for /server_info",
        "--server-args 给出命令行，或设 VLLM_SERVER_DEV_MODE=1 以提供 /server_info",
    ),
    "client": Text("put the client's requests.jsonl beside the recording", "把客户端的 requests.jsonl 放在录制目录中"),
    "spans": Text("start the server with --otlp-traces-endpoint", "以 --otlp-traces-endpoint 启动服务器"),
    "trace": Text("profile 20 to 50 steps of a replica without traffic", "在无流量的副本上剖析 20 至 50 步"),
}


def how(signal: Signal, doubt: Doubt | None) -> Text:
    """How to get a signal; where a process is in doubt, py-spy is cheaper than a profiler."""
    return PY_SPY if signal == "trace" and doubt is not None and of_a_process(doubt) else HOW[signal]


def coverage(
    state: EngineState, entries: dict[str, CauseEntry], evidence: dict[str, Evidence], doubt: Doubt | None = None
) -> Coverage:
    """The signals that were read; for each other one the causes that it decides and that lack evidence without it.

    Those that would settle most stand first; under a ``doubt`` those that would settle it at the least cost.
    """
    seen = tuple(signal for signal in get_args(Signal) if signal in state.signals)
    open_ = {name for name, entry in entries.items() if any(e not in evidence for e in entry.weights)}
    missing = []
    for signal in get_args(Signal):
        if signal in seen:
            continue
        settles = tuple(sorted(name for name, entry in entries.items() if signal in entry.settled_by and name in open_))
        missing.append(Missing(signal, settles, how(signal, doubt)))
    missing.sort(key=lambda m: -len(m.would_settle))
    if doubt is not None:
        missing.sort(key=lambda m: -worth(m.signal, doubt, frozenset(evidence)))
    return Coverage(signals=seen, missing=tuple(missing), unknown_names=state.unknown_names)
