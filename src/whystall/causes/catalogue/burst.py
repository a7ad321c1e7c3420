"""Requests come in bursts that the server could serve if spread out."""

from __future__ import annotations

import msgspec

from whystall.causes.entry import CauseEntry, Link, LookAlike, Need
from whystall.causes.links import FIRST_TOKENS_LATE, REQUESTS_WAIT
from whystall.model.text import Text

# Where seats and budget are large a crowd is taken in at once and shares its first steps: it waits in no queue.
_TAKEN_IN_AT_ONCE = (
    msgspec.structs.replace(FIRST_TOKENS_LATE, optional=False),
    Link(
        Text("They came together: {arrivals_bunched}", "它们同时到来：{arrivals_bunched}"),
        (Need("arrivals.bunched"),),
        rejects=Text(
            "slower steps: the rest of the time first tokens are as fast as ever", "步变慢：其余时间首 token 依旧很快"
        ),
    ),
)

CAUSE = CauseEntry(
    id="burst",
    title=Text(
        "Bursts of requests",
        "请求突发",
    ),
    what=Text(
        "Arrivals bunch together; each bunch queues and drains. On average the server has room.",
        "请求成批到达；每批排队后清空。平均而言服务器有余量。",
    ),
    predicts=Text(
        "Variance of arrivals many times their mean; the queue returns to zero; throughput under capacity.",
        "到达方差是均值的数倍；队列会回到零；吞吐低于能力。",
    ),
    role="trigger",
    bias=-3.0,
    weights={
        "progress.frozen": -4.0,  # a frozen engine admits nobody, whatever the limit
        "wait.aside": -2.5,  # who is set aside waits for something else than capacity
        "arrivals.bursty": 4.0,  # bunched arrivals with a queue that drains is the mechanism
        "arrivals.bunched": 1.0,  # more so than they did
        "queue.delay": 1.5,  # the bunch waits
        "ttft.grown": 0.1,  # or shares its first steps; late they are by many causes
        "queue.growing": -1.5,  # a queue that only grows is overload
        "kv.saturated": -1.0,  # the pool is a limit of its own
        "step.residual": -2.0,  # where steps became slower, the same arrivals wait
        "front.residual": -1.0,  # a slow front end bunches requests, too
    },
    links=(
        REQUESTS_WAIT,
        Link(
            Text(
                "They came together: {arrivals_bursty}",
                "它们同时到来：{arrivals_bursty}",
            ),
            (Need("arrivals.bursty"),),
            rejects=Text(
                "overload: the queue drains between the bursts",
                "过载：突发之间队列会清空",
            ),
        ),
    ),
    other_links=(_TAKEN_IN_AT_ONCE,),
    numbers=(
        Text(
            "{queue_delay:span} wait, {arrivals_bursty:.0f} times as uneven as chance",
            "等待 {queue_delay:span}，不均匀度为随机的 {arrivals_bursty:.0f} 倍",
        ),
    ),
    first_step=Text(
        "Spread the arrivals (client-side pacing, jitter in batch jobs) or keep headroom for the peak.",
        "分散到达（客户端限速、批任务加抖动），或为峰值预留余量。",
    ),
    look_alikes=(
        LookAlike(
            "overload",
            Text(
                "the queue never drains",
                "队列从不清空",
            ),
        ),
        LookAlike(
            "seat_cap",
            Text(
                "running sits at the cap for all the time",
                "运行数一直停在上限",
            ),
        ),
    ),
    hurts_as=("queue",),
    order=4,
    settled_by=("client",),
)
