"""What a comparison that somebody made shows: the same load with and without one thing."""

from __future__ import annotations

import math
from collections.abc import Iterator

import msgspec

from whystall.model.diagnosis import Evidence
from whystall.model.text import Text

from .scene import Scene
from .thresholds import level, ramp


class ContrastKind(msgspec.Struct, frozen=True):
    """A thing that runs are compared with and without: its feature, its evidence and its name."""

    feature: str
    id: str
    name: Text


KINDS = (
    ContrastKind("structured_output", "contrast.structured_output", Text("structured output", "结构化输出")),
    ContrastKind("lora", "contrast.lora", Text("LoRA", "LoRA")),
    ContrastKind("sampling", "contrast.sampling", Text("logprobs or penalties", "logprobs 或惩罚项")),
    ContrastKind("eager", "contrast.eager", Text("CUDA graphs off", "关闭的 CUDA graph")),
    ContrastKind("profiler", "contrast.profiler", Text("a profiler", "分析器")),
    ContrastKind("speculative", "contrast.speculative", Text("speculative decoding", "推测解码")),
    ContrastKind("multimodal", "contrast.multimodal", Text("images, video or audio", "图像、视频或音频")),
    ContrastKind(
        "kernels", "contrast.kernels", Text("this number format or attention backend", "此数值格式或注意力后端")
    ),
    ContrastKind("link", "contrast.link", Text("this link between the GPUs", "这种 GPU 间连接")),
    ContrastKind("offload", "contrast.offload", Text("KV offloading", "KV 卸载")),
    ContrastKind("power", "contrast.power", Text("the power or clock held down", "功率或时钟受限")),
    ContrastKind("first_run", "contrast.first_run", Text("the first run of its kind", "同类首次运行")),
    ContrastKind("version", "contrast.version", Text("this version", "此版本")),
    ContrastKind("engine_loop", "contrast.engine_loop", Text("the host's work between steps", "步间的主机工作")),
    ContrastKind("frontend", "contrast.frontend", Text("the front end's work", "前端的工作")),
    ContrastKind("cpu", "contrast.cpu", Text("too few or remote cores", "核不足或远端核")),
    ContrastKind("replicas", "contrast.replicas", Text("this spread over the replicas", "这种副本间分布")),
    ContrastKind("pd", "contrast.pd", Text("prefill on another server", "在另一服务器上预填充")),
    ContrastKind("prefix_cache", "contrast.prefix_cache", Text("this prefix-cache hit rate", "此前缀缓存命中率")),
    ContrastKind("lockstep", "contrast.lockstep", Text("ranks that step together", "同步前进的 rank")),
    ContrastKind("straggler", "contrast.straggler", Text("the slowest rank", "最慢的 rank")),
    ContrastKind("leak", "contrast.leak", Text("the memory that it has grown by", "增长后的内存")),
    ContrastKind("budget", "contrast.budget", Text("this token budget", "此 token 预算")),
    ContrastKind("seats", "contrast.seats", Text("this cap on running requests", "此运行请求上限")),
    ContrastKind("kv", "contrast.kv", Text("this size of the KV cache", "此 KV 缓存大小")),
    ContrastKind("prompts", "contrast.prompts", Text("long prompts beside it", "同时有长提示")),
    ContrastKind("start", "contrast.start", Text("this way to load the weights", "此权重加载方式")),
    ContrastKind("gateway", "contrast.gateway", Text("the hop between client and server", "客户端与服务器之间的一跳")),
    ContrastKind("expert_balance", "contrast.expert_balance", Text("expert rebalancing", "专家重均衡")),
)


def contrast(scene: Scene) -> Iterator[Evidence]:
    """Evidence of each comparison: at the same load, how many times worse it is with the thing than without it."""
    worst = {found.feature: found.ratio for found in sorted(scene.state.contrasts, key=lambda c: c.ratio)}
    for kind in KINDS:
        ratio = worst.get(kind.feature, 0.0)
        if not ratio > 0:
            continue
        text = Text(
            "at the same load it is {ratio:.2f} times worse with {name} than without",
            "同样负载下，使用{name}时比不使用差 {ratio:.2f} 倍",
        )
        # Two runs of one load differ by some percent; twice that is beyond chance.
        strength = ramp(math.log(ratio), 0.0, -2.3 * math.log(1 - level("compared")))
        yield scene.evidence(kind.id, ratio, "ratio", strength, text.format(ratio=ratio, name=kind.name), "client")
