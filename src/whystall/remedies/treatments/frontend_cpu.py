"""The API process is the limit: more of them, or less for it to do."""

from __future__ import annotations

import math
from collections.abc import Iterator

from whystall.model.text import Text
from whystall.remedies.candidate import Candidate, turned, without
from whystall.remedies.situation import Situation

# Tokens in a streamed piece: people do not see four tokens of a fast stream apart.
PIECE = 4
# A process that is full at this load has room for the next peak.
HEADROOM = 1.3

_SERVERS = Text(
    "parsing, tokenizing and streaming spread over {count} processes", "解析、分词与流式输出分摊到 {count} 个进程"
)
_SERVERS_RISK = Text(
    "each takes a core and memory; metrics move to multiprocess mode and the log's statistics line stops",
    "每个进程占一个核与内存；指标切换为多进程模式，日志统计行停止",
)
_PIECES = Text(
    "one piece for {piece} tokens: about that much less to serialize and send",
    "每 {piece} 个 token 发送一次：序列化与发送相应减少",
)
_PIECES_RISK = Text("clients see tokens in groups; ITL is measured for a group", "客户端成组看到 token；ITL 按组计量")
_LOG = Text("requests are no longer written to the log", "不再把请求写入日志")


def candidates(case: Situation) -> Iterator[Candidate]:
    """Less to do first where the operator asked for extras, then processes, then larger pieces."""
    if case.setup.is_set("enable_log_requests") and case.setup.on("enable_log_requests"):
        yield without(case, "enable_log_requests", _LOG)
    count = _processes(case)
    yield turned(case, "api_server_count", count, _SERVERS.format(count=count), _SERVERS_RISK)
    if case.setup.number("stream_interval") in (None, 1):
        yield turned(case, "stream_interval", PIECE, _PIECES.format(piece=PIECE), _PIECES_RISK)


def _processes(case: Situation) -> int:
    now = case.setup.number("api_server_count") or case.setup.number("data_parallel_size") or 1
    cores = case.peak(case.state.api_cores)
    wanted = math.ceil(cores * HEADROOM) if math.isfinite(cores) else 0
    return int(max(now + 1, wanted))
