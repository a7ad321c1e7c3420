"""max_num_seqs binds: all seats are taken."""

from __future__ import annotations

from whystall.causes.entry import CauseEntry, Link, LookAlike, Need
from whystall.causes.links import MORE_CAME, REQUESTS_WAIT, seen_in_contrast
from whystall.model.text import Text

CAUSE = CauseEntry(
    id="seat_cap",
    title=Text(
        "All seats taken",
        "席位已满",
    ),
    what=Text(
        "max_num_seqs sequences run already; the rest waits although KV blocks and token budget are free.",
        "已有 max_num_seqs 个序列在运行；尽管 KV 块与 token 预算有余，其余请求只能等待。",
    ),
    predicts=Text(
        "Running flat at the cap with a queue, KV with room, no preemption, ITL unchanged.",
        "运行数停在上限且有排队，KV 有余，无抢占，ITL 不变。",
    ),
    role="limit",
    bias=-2.5,
    weights={
        "progress.frozen": -4.0,  # a frozen engine admits nobody, whatever the limit
        "wait.aside": -2.5,  # who is set aside waits for something else than capacity
        "seats.full": 4.0,  # running at the cap with free blocks is the mechanism itself
        "queue.delay": 2.0,  # who has no seat waits
        "kv.saturated": -2.0,  # short of blocks, seats do not matter
        "kv.preemptions": -1.5,  # only the pool preempts
        "budget.full": -1.0,  # full steps would hold back the same requests
    },
    links=(
        REQUESTS_WAIT,
        Link(
            Text(
                "No seat is free: {seats_full}",
                "没有空席位：{seats_full}",
            ),
            (Need("seats.full"),),
            rejects=Text(
                "KV blocks: a further prompt would fit",
                "KV 块：再来一个提示也放得下",
            ),
        ),
        Link(
            Text(
                "Blocks are there: {kv_saturated}",
                "块是有的：{kv_saturated}",
            ),
            (Need("kv.saturated", 0.3, below=True),),
            optional=True,
        ),
        MORE_CAME,
    ),
    numbers=(
        Text(
            "{limit:.0f} of {limit:.0f} run, {queue_delay:span} wait",
            "{limit:.0f} 个席位全满，等待 {queue_delay:span}",
        ),
        Text(
            "requests wait {queue_delay:span}",
            "请求等待 {queue_delay:span}",
        ),
    ),
    first_step=Text(
        "Raise --max-num-seqs (restart); ITL rises a little with the batch. Lowering it makes the queue longer.",
        "提高 --max-num-seqs（需重启）；ITL 会随批量略升。调低它只会让队列更长。",
    ),
    look_alikes=(
        LookAlike(
            "kv_capacity",
            Text(
                "free blocks are fewer than a prompt needs",
                "剩余块少于一个提示所需",
            ),
        ),
        LookAlike(
            "client_limited",
            Text(
                "nobody waits",
                "无人等待",
            ),
        ),
        LookAlike(
            "overload",
            Text(
                "raising the cap would not raise throughput: steps slow in proportion",
                "提高上限也不会提高吞吐：步时成比例变慢",
            ),
        ),
    ),
    limit="max_num_seqs",
    hurts_as=("queue",),
    restart=True,
    order=1,
    settled_by=("config",),
)

CAUSE = seen_in_contrast(CAUSE, "seats")
