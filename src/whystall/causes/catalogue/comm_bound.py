"""Collectives take the time on every rank."""

from __future__ import annotations

from whystall.causes.entry import CauseEntry, Link, LookAlike, Need
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
    bias=-4.0,
    weights={
        "trace.exposed_collectives": 5.0,  # time at which nothing else runs
        "trace.skew": -2.0,  # waiting for one rank is no transfer
    },
    links=(
        Link(
            Text(
                "Collectives hold up the step: {trace_exposed_collectives}",
                "集合通信拖慢每步：{trace_exposed_collectives}",
            ),
            (Need("trace.exposed_collectives"),),
            rejects=Text(
                "kernels: they wait for the exchange",
                "计算内核：它们在等待通信",
            ),
        ),
        Link(
            Text(
                "The ranks arrive together: {trace_skew}",
                "各 rank 几乎同时到达：{trace_skew}",
            ),
            (Need("trace.skew", 0.5, below=True),),
            rejects=Text(
                "a straggler: that would be waiting, not transfer",
                "掉队 rank：那是等待而非传输",
            ),
            optional=True,
        ),
    ),
    numbers=(
        Text(
            "{trace_exposed_collectives:.0%} of the time exposed",
            "未掩盖占 {trace_exposed_collectives:.0%}",
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
    hurts_as=("itl", "queue"),
    order=2,
    settled_by=("trace",),
)
