"""Collectives take the time on every rank."""

from __future__ import annotations

from whystall.causes.entry import CauseEntry, Link, LookAlike, Need
from whystall.causes.links import shown_by_contrast
from whystall.model.text import Text

CAUSE = CauseEntry(
    id="comm_bound",
    title=Text(
        "Communication-bound",
        "受通信限制",
    ),
    what=Text(
        "All-reduces of tensor parallelism, or the exchange of experts, take a large share of every step on all "
        "ranks: the link is slow or used on its slow path.",
        "张量并行的 all-reduce 或专家交换在所有 rank 上占每步的很大比例：链路慢，或走了慢路径。",
    ),
    predicts=Text(
        "Exposed collective time high on all ranks with little skew between them.",
        "所有 rank 上未掩盖的集合通信时间高，且彼此偏差小。",
    ),
    role="limit",
    bias=-2.5,
    weights={
        "contrast.link": 7.0,  # the same load without it is better: no observation says more
        "trace.exposed_collectives": 3.0,  # time at which nothing else runs
        "trace.skew": -1.0,  # waiting for one rank is no transfer
        "ranks.wait": 2.5,  # ranks that spin draw less power at full use
        "ranks.apart": -2.0,  # all of them, not all but one
        "step.residual": 2.0,  # the same work takes longer
        "excess.by_tokens": 0.7,  # by the tokens that are exchanged
        "excess.by_sequences": -0.7,  # sequences are not exchanged
        "config.ranks": 1.0,  # one GPU exchanges nothing
        "step.host_gap": -1.0,  # a GPU in a collective counts as in use
        "step.on_gpu": 0.7,  # so the excess is in its time
        "step.pauses": -1.5,  # every step has its collectives
        "gpu.held_down": -4.0,  # the clock explains it
        "version.changed": -1.5,  # so does another version
    },
    links=(
        Link(
            Text(
                "Collectives hold up the step: {ranks_wait}",
                "集合通信拖慢每步：{ranks_wait}",
            ),
            (Need("ranks.wait"),),
            rejects=Text(
                "kernels: they wait for the exchange",
                "计算内核：它们在等待通信",
            ),
        ),
        Link(
            Text(
                "The ranks arrive together: {ranks_apart}",
                "各 rank 几乎同时到达：{ranks_apart}",
            ),
            (Need("ranks.apart", 0.5, below=True),),
            rejects=Text(
                "a straggler: that would be waiting, not transfer",
                "掉队 rank：那是等待而非传输",
            ),
            optional=True,
        ),
        Link(
            Text(
                "It is time that steps did not take before: {step_residual}",
                "这是此前每步没有的时间：{step_residual}",
            ),
            (Need("step.residual"),),
            optional=True,
        ),
        Link(
            Text(
                "It grows with what is exchanged: {excess_by_tokens}",
                "随交换量增长：{excess_by_tokens}",
            ),
            (Need("excess.by_tokens"),),
            rejects=Text(
                "the host and attention, which go with sequences",
                "主机与注意力：它们随序列数变化",
            ),
            optional=True,
        ),
    ),
    other_links=(shown_by_contrast("link"),),
    numbers=(
        Text(
            "{trace_exposed_collectives:.0%} of the time exposed",
            "未掩盖占 {trace_exposed_collectives:.0%}",
        ),
        Text(
            "steps take {step_residual:.1f} times as long at equal work, at lower power",
            "同等工作下每步耗时为 {step_residual:.1f} 倍，而功率更低",
        ),
        Text(
            "{contrast_link:~2} times worse with it than without",
            "使用时比不使用差 {contrast_link:~2} 倍",
        ),
    ),
    first_step=Text(
        "Check the links (NVLink or PCIe, nvidia-smi topo -m, negotiated width) and whether a custom all-reduce is "
        "in use; fewer GPUs a replica and more replicas need less of it.",
        "检查链路（NVLink 或 PCIe，nvidia-smi topo -m，协商宽度）及是否启用自定义 all-reduce；每副本更少 GPU、"
        "更多副本所需通信更少。",
    ),
    look_alikes=(
        LookAlike(
            "straggler_rank",
            Text(
                "the minimum over ranks is small, one rank waits for none",
                "各 rank 最小值很小，且有一个 rank 从不等待",
            ),
        ),
    ),
    hurts_as=("itl", "queue", "contrast"),
    order=2,
    settled_by=("trace", "gpu"),
)
