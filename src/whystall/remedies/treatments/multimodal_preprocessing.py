"""Media fill the API process: keep what is prepared, more processes, or less to prepare."""

from __future__ import annotations

from collections.abc import Iterator

from whystall.model.text import Text
from whystall.remedies.candidate import Candidate, act, turned, without
from whystall.remedies.situation import Situation

# GiB without the flag (knobs/mm_processor_cache_gb).
DEFAULT_GB = 4.0

_KEPT = Text(
    "media that come again are not prepared again: the cache is smaller here than it is without the flag",
    "重复出现的媒体无需再次预处理：此处的缓存小于不设该参数时",
)
_KEPT_RISK = Text(
    "{more:.1f} GiB more of the host's memory for each process; nothing, where every request brings new media",
    "每个进程多占 {more:.1f} GiB 主机内存；若每个请求的媒体都是新的，则无效",
)
_SERVERS = Text("media are prepared by {count} processes", "由 {count} 个进程预处理媒体")
_SERVERS_RISK = Text(
    "each takes a core, memory and a cache of its own; metrics move to multiprocess mode",
    "每个进程占一个核、内存与各自的缓存；指标切换为多进程模式",
)
_SMALLER = Text("Send media smaller: the model resizes them anyway", "发送更小的媒体：模型总会缩放")
_SMALLER_BUYS = Text("less to decode and to resize for each request", "每个请求的解码与缩放减少")
_SMALLER_RISK = Text("needs a change of the clients; check the answers", "需要修改客户端；请检查回答质量")


def candidates(case: Situation) -> Iterator[Candidate]:
    """A cache that the operator made small first, then processes, then the clients."""
    kept = case.setup.number("mm_processor_cache_gb")
    if case.setup.is_set("mm_processor_cache_gb") and kept is not None and kept < DEFAULT_GB:
        yield without(case, "mm_processor_cache_gb", _KEPT, _KEPT_RISK.format(more=DEFAULT_GB - kept))
    count = int(case.setup.number("api_server_count") or case.setup.number("data_parallel_size") or 1) + 1
    yield turned(case, "api_server_count", count, _SERVERS.format(count=count), _SERVERS_RISK)
    yield act("client", "client.media", _SMALLER, _SMALLER_BUYS, _SMALLER_RISK)
