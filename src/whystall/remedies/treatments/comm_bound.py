"""Collectives take the time: vLLM's own all-reduce where it is switched off, then the links."""

from __future__ import annotations

from collections.abc import Iterator

from whystall.model.text import Text
from whystall.remedies.candidate import Candidate, act, without
from whystall.remedies.situation import Situation

_OWN = Text(
    "small all-reduces of decoding take vLLM's own path again, not NCCL's",
    "解码的小 all-reduce 重新走 vLLM 自带路径，而非 NCCL",
)
_OWN_RISK = Text(
    "who set it may have had a reason: hangs or wrong results over PCIe without peer access",
    "设置它可能有原因：在没有 P2P 的 PCIe 上会卡住或出错",
)
_LINKS = Text(
    "Check the links (NVLink or PCIe, nvidia-smi topo -m, negotiated width)",
    "检查链路（NVLink 或 PCIe，nvidia-smi topo -m，协商宽度）",
)
_LINKS_BUYS = Text("collectives take as long as the link was built for", "集合通信恢复到链路应有的速度")
_FEWER = Text("Spread a replica over fewer GPUs, and run more replicas", "每个副本用更少的 GPU，并运行更多副本")
_FEWER_BUYS = Text("less is exchanged in each step", "每步交换的数据减少")
_FEWER_RISK = Text("each replica has fewer KV blocks, and its prefill is slower", "每个副本的 KV 块更少，预填充更慢")


def candidates(case: Situation) -> Iterator[Candidate]:
    """The flag that the operator set first, then what no flag mends."""
    if case.setup.is_set("disable_custom_all_reduce") and case.setup.on("disable_custom_all_reduce"):
        yield without(case, "disable_custom_all_reduce", _OWN, _OWN_RISK)
    yield act("host", "host.links", _LINKS, _LINKS_BUYS)
    yield act("capacity", "fewer.gpus", _FEWER, _FEWER_BUYS, _FEWER_RISK)
