"""Data-parallel ranks wait for the one with the most to do."""

from __future__ import annotations

from whystall.causes.entry import CauseEntry, Link, LookAlike, Need
from whystall.causes.links import seen_in_contrast
from whystall.model.text import Text

CAUSE = CauseEntry(
    id="dp_lockstep",
    title=Text(
        "Ranks wait for the busiest one",
        "各 rank 等待最忙的一个",
    ),
    what=Text(
        "With experts spread over data-parallel ranks, all ranks exchange tokens in every layer and "
        "so make each step together. A rank with few tokens takes as long as the one with the most; "
        "an idle rank runs dummy batches.",
        "专家分布在数据并行各 rank 上时，各 rank 每层都要交换 token，因此每步必须同步。"
        "token 少的 rank 与最多的一样慢；空闲 rank 运行空批次。",
    ),
    predicts=Text(
        "The same number of steps on all engines of the page over different numbers of tokens; dummy steps in the log.",
        "页面上各引擎步数相同而 token 数不同；日志中有空步。",
    ),
    role="limit",
    bias=-3.0,
    weights={
        "peers.lockstep": 4.0,  # equal steps over unequal work
        "config.lockstep": 1.5,  # what makes ranks step together
        "steps.dummy": 3.0,  # a step that only keeps up says it itself
        "config.eager": -0.5,  # launches explain slow steps of a small batch
    },
    links=(
        Link(
            Text(
                "Ranks step together over different work: {peers_lockstep}",
                "各 rank 同步执行不同的工作量：{peers_lockstep}",
            ),
            (Need("peers.lockstep"),),
            rejects=Text(
                "a slow rank: engines of their own would step as fast as their work lets them",
                "慢 rank：独立引擎会按各自的工作量前进",
            ),
        ),
        Link(
            Text(
                "They must: {config_lockstep}",
                "它们必须如此：{config_lockstep}",
            ),
            (Need("config.lockstep", 0.2),),
            optional=True,
        ),
        Link(
            Text(
                "Some steps are dummies: {steps_dummy}",
                "部分步为空步：{steps_dummy}",
            ),
            (Need("steps.dummy"),),
            optional=True,
        ),
    ),
    numbers=(
        Text(
            "the same steps over {peers_lockstep:~2} times the tokens",
            "相同步数而 token 数相差 {peers_lockstep:~2} 倍",
        ),
    ),
    first_step=Text(
        "Balance tokens over the ranks, batch their prefills with --prefill-schedule-interval, or "
        "serve with fewer data-parallel ranks and more independent replicas.",
        "在各 rank 间均衡 token，用 --prefill-schedule-interval 合并预填充，或减少数据并行 rank、增加独立副本。",
    ),
    look_alikes=(
        LookAlike(
            "replica_imbalance",
            Text(
                "engines that do not step together: the light one is fast",
                "引擎不同步：轻载的那个很快",
            ),
        ),
        LookAlike(
            "launch_bound",
            Text(
                "a lone engine is as slow with its small batch",
                "单独的引擎在小批次下同样慢",
            ),
        ),
        LookAlike(
            "moe_imbalance",
            Text(
                "the time differs over experts of one step, not over ranks with different tokens",
                "差异在同一步的专家之间，而非 token 数不同的 rank 之间",
            ),
        ),
        LookAlike(
            "straggler_rank",
            Text(
                "all ranks have the same tokens and one is slow",
                "各 rank token 相同而其中一个慢",
            ),
        ),
    ),
    hurts_as=(
        "itl",
        "queue",
    ),
    restart=True,
    order=1,
    settled_by=(
        "metrics",
        "log",
        "config",
        "trace",
    ),
)

CAUSE = seen_in_contrast(CAUSE, "lockstep")
