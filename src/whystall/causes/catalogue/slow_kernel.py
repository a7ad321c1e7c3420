"""A kernel is slower than it was for the same batch."""

from __future__ import annotations

from whystall.causes.entry import CauseEntry, Link, LookAlike, Need
from whystall.causes.links import STEPS_ARE_SLOWER, shown_by_contrast
from whystall.model.text import Text

CAUSE = CauseEntry(
    id="slow_kernel",
    title=Text("Slower kernels", "内核变慢"),
    what=Text(
        "Steps of the same batch take longer while the GPU works all the time at a free clock: another attention or "
        "matrix kernel is in use (a fallback, a batch or context beyond the tuned sizes), or a neighbour shares the GPU.",
        "同样批次的步更久，而 GPU 一直在忙且时钟未受限：使用了另一个注意力或矩阵内核（回退、批次或上下文超出调优范围），"
        "或有其他程序共用 GPU。",
    ),
    predicts=Text(
        "Residual of the step time above zero, GPU in use, clock free, its memory less busy than before; the excess "
        "mostly grows with sequences and context (attention) or with tokens (matrices).",
        "步时残差大于零，GPU 在用，时钟未受限，显存比此前更闲；超出时间多随序列与上下文（注意力）或 token（矩阵）增长。",
    ),
    role="limit",
    bias=-4.5,
    weights={
        "contrast.kernels": 7.0,  # the same load without it is better: no observation says more
        "step.residual": 4.5,  # the same work takes longer
        "step.over_sheet": 2.0,  # so it does where only the data sheet tells
        "excess.by_sequences": 0.7,  # attention is what such changes hit most
        "step.host_gap": -2.0,  # a GPU that waits has no slow kernel
        "step.on_gpu": 1.5,  # nor one whose own time a step stayed as it was
        "step.pauses": -2.0,  # nor has one that stands still
        "gpu.held_down": -2.5,  # the clock explains it
        "gpu.memory_busy": -1.0,  # memory at its rate is no slow kernel
        "ranks.wait": -4.0,  # ranks that spin compute little
        "ranks.apart": -4.0,  # one of them is slow, not the kernel
        "version.changed": -3.0,  # a new version explains it
        "config.ranks": -0.8,  # between several GPUs a link may be slow, too
        "queue.deferred": -2.0,  # grammars cost the host time, too
        "trace.sampling": -2.0,  # the trace names the kernel
        "trace.moe_spread": -2.0,  # or the rank that has more to do
        "trace.launch_gaps": -2.0,  # or that there is no kernel to run
        "config.graph_gap": -2.0,  # batches beyond the graphs wait for their launches
        "config.eager": -0.5,  # as all do without graphs
        "engine.core": -1.5,  # the loop, then
        "cpu.throttled": -2.0,  # pauses of the quota stretch steps
    },
    links=(
        STEPS_ARE_SLOWER,
        Link(
            Text("The GPU works all the time: {step_host_gap}", "GPU 一直在工作：{step_host_gap}"),
            (Need("step.host_gap", -0.3, below=True),),
            rejects=Text("the host: it keeps the GPU busy", "主机：它让 GPU 一直有活"),
        ),
        Link(
            Text("The clock is free: {gpu_held_down}", "时钟未受限：{gpu_held_down}"),
            (Need("gpu.held_down", 0.3, below=True),),
            rejects=Text("throttling", "降频"),
        ),
        Link(
            Text("Not the memory: {gpu_memory_busy}", "并非显存：{gpu_memory_busy}"),
            (Need("gpu.memory_busy", 0.3, below=True),),
            rejects=Text("the memory's bandwidth", "显存带宽"),
            optional=True,
        ),
        Link(
            Text("It grows with the work: {excess_each_step}", "它随工作量增长：{excess_each_step}"),
            (Need("excess.each_step", 0.3, below=True),),
            if_seen=True,  # batches that are all alike cannot tell
            rejects=Text(
                "what every step loses alike: the host, launches, waiting for a rank",
                "每步相同的损失：主机、启动开销、等待某个 rank",
            ),
        ),
    ),
    other_links=(shown_by_contrast("kernels"),),
    numbers=(
        Text(
            "steps take {step_residual:.1f} times as long at equal work", "同等工作下每步耗时为 {step_residual:.1f} 倍"
        ),
        Text(
            "{contrast_kernels:~2} times worse with it than without",
            "使用时比不使用差 {contrast_kernels:~2} 倍",
        ),
    ),
    first_step=Text(
        "Compare the attention backend and the kernels in the start-up log with a fast replica's, look for other "
        "programs on the GPU (nvidia-smi), and profile 20 steps: the kernel that grew is the one.",
        "将启动日志中的注意力后端与内核和快的副本比较，查看 GPU 上是否有其他程序（nvidia-smi），并剖析 20 步："
        "变长的那个内核就是。",
    ),
    look_alikes=(
        LookAlike("gpu_throttle", Text("the clock is down", "时钟下降")),
        LookAlike("decode_bandwidth", Text("the memory is busy nearly all the time", "显存几乎一直忙碌")),
        LookAlike("comm_bound", Text("the ranks draw less power at full use", "各 rank 满使用率而功率更低")),
        LookAlike(
            "longer_prompts", Text("the residual is near zero: the work explains it", "残差接近零：工作量即可解释")
        ),
    ),
    hurts_as=("itl", "queue", "contrast"),
    order=3,
    onset_from=("step.residual",),
    settled_by=("gpu", "trace"),
)
