"""Admission control refuses requests."""

from __future__ import annotations

from whystall.causes.entry import CauseEntry, Link, LookAlike, Need
from whystall.causes.links import MORE_CAME
from whystall.model.text import Text

CAUSE = CauseEntry(
    id="queue_limit",
    title=Text(
        "Queue limit refuses requests",
        "队列上限拒绝请求",
    ),
    what=Text(
        "--max-num-queued-reqs or --max-num-queued-tokens answers 503 to requests above it. The first counts running "
        "requests too, so refusals come while nothing waits.",
        "--max-num-queued-reqs 或 --max-num-queued-tokens 对超出的请求返回 503。前者把运行中的请求也计入，"
        "因此在没有排队时也会拒绝。",
    ),
    predicts=Text(
        "Refusals counted by reason, latency of the rest normal.",
        "按原因计数的拒绝，其余请求延迟正常。",
    ),
    role="limit",
    bias=-4.0,
    weights={
        "queue.refused": 6.0,  # the server counts its own refusals
        "log.refused": 2.0,  # the words of the refusal
        "client.refused": 2.0,  # 503 and 429 seen by the client
        "http.errors": 1.0,  # 5xx may be others, too
    },
    links=(
        Link(
            Text(
                "Requests are refused: {queue_refused}",
                "请求被拒绝：{queue_refused}",
            ),
            (Need("queue.refused"),),
            rejects=Text(
                "errors of the engine: the server counts these as its own choice",
                "引擎错误：服务器将其计为主动拒绝",
            ),
        ),
        MORE_CAME,
    ),
    numbers=(
        Text(
            "{queue_refused:.0%} of them",
            "占 {queue_refused:.0%}",
        ),
        Text(
            "{client_refused:.0%} of them",
            "占 {client_refused:.0%}",
        ),
    ),
    first_step=Text(
        "Decide what the limit protects: raise --max-num-queued-reqs if TTFT has room (it counts running requests "
        "too), else add capacity.",
        "先确定该上限要保护什么：若 TTFT 有余量则提高 --max-num-queued-reqs（它也计入运行中的请求），否则增加容量。",
    ),
    look_alikes=(
        LookAlike(
            "overload",
            Text(
                "requests wait instead of being refused",
                "请求是等待而不是被拒绝",
            ),
        ),
    ),
    limit="max_num_queued_reqs",
    hurts_as=("refusals",),
    restart=True,
    order=0,
    settled_by=("metrics", "client"),
)
