"""More work arrives than the server can do, whatever its settings."""

from __future__ import annotations

from whystall.causes.entry import CauseEntry, Link, LookAlike, Need
from whystall.causes.links import MORE_CAME, REQUESTS_WAIT
from whystall.model.text import Text

CAUSE = CauseEntry(
    id="overload",
    title=Text(
        "Overload",
        "过载",
    ),
    what=Text(
        "Arrivals exceed the service rate and the queue grows without bound although no configured limit binds first.",
        "到达率超过服务率，尽管没有配置上限先被触及，队列仍无限增长。",
    ),
    predicts=Text(
        "A queue that grows at a steady rate, throughput flat.",
        "队列匀速增长，吞吐持平。",
    ),
    role="limit",
    bias=-2.5,
    weights={
        "kv.preemptions": -1.5,  # preemptions say that blocks run out first
        "progress.frozen": -4.0,  # a frozen engine admits nobody, whatever the limit
        "queue.growing": 3.5,  # arrivals over service is the mechanism
        "batch.growing": 6.0,  # likewise, and the queue that is not there is no sign against it
        "queue.delay": 1.0,  # who comes waits
        "requests.more": 1.0,  # a larger crowd is the usual trigger
        "work.more": 2.5,  # where no more work came than before, the server got slower
        "wait.aside": -5.0,  # who is set aside waits for something else than capacity
        "budget.binds": -2.5,  # steps that the budget keeps small leave capacity unused
        "seats.full": -2.5,  # a limit that can be raised comes first
        "kv.saturated": -2.5,  # likewise
        "budget.full": -1.0,  # likewise
        "step.residual": -2.0,  # a slower server gets its queue from the same work
        "front.residual": -2.5,  # a front end that is full comes first
        "requests.crowd": 6.0,  # unless it is full of more requests than it ever had
        "prefill.busy": -1.0,  # prefill capacity has its own name
        "prefix.lost": -2.0,  # the extra work has a cause
    },
    links=(
        REQUESTS_WAIT,
        Link(
            Text(
                "The queue only grows: {queue_growing}",
                "队列只增不减：{queue_growing}",
            ),
            (Need("queue.growing"),),
            rejects=Text(
                "a burst: it would drain",
                "突发：那样会清空",
            ),
        ),
        MORE_CAME,
    ),
    other_links=(
        (
            Link(
                Text(
                    "More come than the front end takes: {requests_crowd}",
                    "到达的请求超过前端的处理能力：{requests_crowd}",
                ),
                (Need("requests.crowd"),),
                rejects=Text(
                    "a front end that became slower: the same requests were no burden before",
                    "前端变慢：同样的请求此前并非负担",
                ),
            ),
        ),
        (
            Link(
                Text(
                    "They pile up in the batch: {batch_growing}",
                    "它们在批次中堆积：{batch_growing}",
                ),
                (Need("batch.growing", 0.5),),
                rejects=Text(
                    "a limit: seats and blocks are free",
                    "上限：席位与块都有空余",
                ),
            ),
            Link(
                Text(
                    "A step takes what its batch takes: {step_residual}",
                    "每步耗时与其批次相符：{step_residual}",
                ),
                (Need("step.residual", 0.3, below=True),),
                rejects=Text(
                    "a server that became slower",
                    "服务器变慢",
                ),
                optional=True,
            ),
            MORE_CAME,
        ),
    ),
    numbers=(
        Text(
            "{batch_growing:~2} more requests run with every second",
            "运行中的请求每秒增加 {batch_growing:~2}",
        ),
        Text(
            "the queue grows by {queue_growing:~2} a second",
            "队列每秒增长 {queue_growing:~2}",
        ),
    ),
    first_step=Text(
        "Add replicas or shed load (--max-num-queued-reqs); no batch setting creates the missing capacity.",
        "增加副本或削减负载（--max-num-queued-reqs）；任何批处理设置都补不上缺失的容量。",
    ),
    look_alikes=(
        LookAlike(
            "seat_cap",
            Text(
                "running sits at max_num_seqs",
                "运行数停在 max_num_seqs",
            ),
        ),
        LookAlike(
            "kv_capacity",
            Text(
                "free blocks are fewer than a prompt",
                "剩余块少于一个提示",
            ),
        ),
        LookAlike(
            "burst",
            Text(
                "the queue drains between bursts",
                "突发之间队列清空",
            ),
        ),
    ),
    hurts_as=("queue", "itl", "front"),
    order=3,
    settled_by=("metrics",),
)
