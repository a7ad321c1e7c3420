"""All ranks wait for one."""

from __future__ import annotations

from whystall.causes.entry import CauseEntry, Link, LookAlike, Need
from whystall.causes.links import seen_in_contrast
from whystall.model.text import Text

CAUSE = CauseEntry(
    id="straggler_rank",
    title=Text(
        "A straggling rank",
        "掉队的 rank",
    ),
    what=Text(
        "One rank is slower (its clock, its host, a neighbour on its GPU); the others spend the difference waiting "
        "in collectives.",
        "某个 rank 更慢（时钟、主机或同卡的其他程序）；其余 rank 把差值花在集合通信的等待中。",
    ),
    predicts=Text(
        "Collective time is mostly waiting, and the rank with the least of it is the slow one.",
        "集合通信时间大部分是等待，而等待最少的 rank 就是慢的那个。",
    ),
    role="limit",
    bias=-2.5,
    weights={
        "trace.skew": 2.5,  # waiting is what a straggler makes of collectives
        "trace.exposed_collectives": 1.0,  # and it shows as their time
        "ranks.apart": 2.5,  # its board does other work than the others'
        "ranks.wait": 0.5,  # which spin meanwhile
        "step.residual": 2.0,  # the same work takes longer
        "excess.each_step": 0.7,  # in every step alike
        "config.ranks": 1.0,  # one GPU waits for nobody
        "step.host_gap": -1.0,  # who waits in a collective counts as in use
        "step.on_gpu": 0.7,  # so the excess is in its time
        "version.changed": -1.5,  # another version explains it
    },
    links=(
        Link(
            Text(
                "Ranks wait for one of them: {ranks_apart}",
                "各 rank 在等待其中一个：{ranks_apart}",
            ),
            (Need("ranks.apart"),),
            rejects=Text(
                "a slow link: the transfer itself is short",
                "链路慢：传输本身很短",
            ),
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
                "Every step loses it: {excess_each_step}",
                "每步都损失：{excess_each_step}",
            ),
            (Need("excess.each_step"),),
            optional=True,
        ),
    ),
    numbers=(
        Text(
            "{trace_skew:.0%} of collective time is waiting",
            "集合通信时间的 {trace_skew:.0%} 是等待",
        ),
        Text(
            "one GPU {ranks_apart:.0%} apart from the others",
            "一个 GPU 与其余相差 {ranks_apart:.0%}",
        ),
    ),
    first_step=Text(
        "Compare clocks, power and other processes of that rank's GPU with the others', then its host's cores; move "
        "the replica if they agree.",
        "比较该 rank 的 GPU 与其他 GPU 的时钟、功率和其他进程，再比较其主机核；若无差异则迁移副本。",
    ),
    look_alikes=(
        LookAlike(
            "comm_bound",
            Text(
                "the minimum over ranks is large, too",
                "各 rank 最小值也很大",
            ),
        ),
    ),
    hurts_as=("itl", "queue"),
    order=2,
    settled_by=("trace", "gpu"),
)

CAUSE = seen_in_contrast(CAUSE, "straggler")
