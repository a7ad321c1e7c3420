"""--gpu-memory-utilization: the share of GPU memory that vLLM takes."""

from __future__ import annotations

from whystall.model.text import Text
from whystall.remedies.knob import Default, Folk, Knob, Legal, Spelling, Treatment

KNOB = Knob(
    id="gpu_memory_utilization",
    group="kv",
    kind="number",
    what=Text(
        "Share of the GPU's memory for weights, activations and KV pool together; it must be free at the start.",
        "权重、激活与 KV 池合计可用的显存占比；启动时必须空闲。",
    ),
    spellings=(Spelling("--gpu-memory-utilization"), Spelling("--device-memory-utilization", since="0.31.0")),
    defaults=(Default("0.92", since="0.20.2"), Default("0.9", until="0.19.1")),
    legal=Legal(low=0, high=1, low_open=True),
    up=Text(
        "The KV pool grows by the difference times the whole memory. Above about 0.95, NCCL, graphs or another process "
        "run out of memory.",
        "KV 池增加“差值 × 总显存”。超过约 0.95 时，NCCL、graph 或其他进程可能显存不足。",
    ),
    raising={"kv": "better", "ttft": "better", "memory": "worse"},
    treats=(Treatment("kv_capacity", "raise"),),
    folk=(
        Folk(
            (),
            Text("judge the pool by nvidia-smi's memory", "用 nvidia-smi 的显存判断块池"),
            Text(
                "vLLM takes its share at the start: used memory is flat whatever the load",
                "vLLM 启动时就占好份额：无论负载如何，已用显存都是平的",
            ),
        ),
    ),
)
