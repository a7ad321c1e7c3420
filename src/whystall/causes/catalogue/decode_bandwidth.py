"""Decoding runs at the memory bandwidth of the GPU."""

from __future__ import annotations

from whystall.causes.entry import CauseEntry, Link, LookAlike, Need
from whystall.model.text import Text

CAUSE = CauseEntry(
    id="decode_bandwidth",
    title=Text(
        "Decode at memory bandwidth",
        "解码达到显存带宽",
    ),
    what=Text(
        "Every step reads all weights and the resident KV cache; its time is that divided by the bandwidth, and only "
        "fewer bytes make it shorter.",
        "每步都要读取全部权重和驻留的 KV 缓存；其时间等于字节数除以带宽，只有减少字节才能更快。",
    ),
    predicts=Text(
        "Kernels near the bandwidth of the data sheet in decode steps; ITL grows with resident tokens.",
        "解码步的内核接近数据表带宽；ITL 随驻留 token 增长。",
    ),
    role="limit",
    bias=-3.5,
    weights={
        "trace.bandwidth": 3.0,  # kernels at the bandwidth are the definition
        "gpu.memory_busy": 3.0,  # as is a memory that hardly rests
        "itl.median": 2.0,  # it is a loss where most tokens come late
        "excess.by_sequences": 0.5,  # context is what is read
        "itl.beyond_memory": -1.0,  # no step reads more than all of the memory
        "config.graph_gap": -1.0,  # batches beyond the graphs wait for their launches
        "prefill.busy": -1.5,  # prefill computes rather than reads
        "gpu.held_down": -2.0,  # the clock explains it
        "step.pauses": -2.0,  # every step reads
        "queue.delay": -0.7,  # who waits for seats or blocks is not decoding yet
        "trace.prefill": -2.0,  # prefill computes rather than reads
        "step.host_gap": -2.0,  # an idle GPU does not read
        "step.on_gpu": 0.7,  # reading keeps it busy
    },
    links=(
        Link(
            Text(
                "The memory hardly rests: {gpu_memory_busy}",
                "显存几乎不停：{gpu_memory_busy}",
            ),
            (Need("gpu.memory_busy"),),
            rejects=Text(
                "launches or the host: the memory is busy",
                "启动开销或主机：显存在忙",
            ),
        ),
        Link(
            Text(
                "Most tokens come late for it: {itl_median}",
                "大多数 token 因此迟到：{itl_median}",
            ),
            (Need("itl.median"),),
            rejects=Text(
                "single pauses and other people's prompts, which leave the median alone",
                "单次停顿与他人的提示：它们不影响中位数",
            ),
        ),
    ),
    numbers=(
        Text(
            "kernels at {trace_bandwidth:.0%} of the bandwidth",
            "内核达到带宽的 {trace_bandwidth:.0%}",
        ),
        Text(
            "memory busy {gpu_memory_busy:.0%} of the time",
            "显存有 {gpu_memory_busy:.0%} 的时间忙碌",
        ),
    ),
    first_step=Text(
        "Fewer bytes a token: quantised weights, fp8 KV cache after an accuracy check, speculative decoding at small "
        "batches, or more GPUs.",
        "减少每 token 的字节：量化权重、经精度检查的 fp8 KV、小批量下的推测解码，或更多 GPU。",
    ),
    look_alikes=(
        LookAlike(
            "launch_bound",
            Text(
                "the GPU is idle between kernels",
                "内核之间 GPU 空闲",
            ),
        ),
        LookAlike(
            "prefill_bound",
            Text(
                "steps are full of prompt tokens",
                "步中充满提示 token",
            ),
        ),
    ),
    hurts_as=("itl",),
    order=3,
    restart=True,
    settled_by=("trace", "gpu"),
)
