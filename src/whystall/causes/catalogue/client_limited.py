"""The client keeps a fixed number of requests open."""

from __future__ import annotations

from whystall.causes.entry import CauseEntry, Link, LookAlike, Need
from whystall.model.text import Text

CAUSE = CauseEntry(
    id="client_limited",
    title=Text(
        "Client-limited",
        "受客户端限制",
    ),
    what=Text(
        "A pool, a semaphore or a benchmark's concurrency holds the number of requests in flight; the server has "
        "seats, blocks and budget left.",
        "连接池、信号量或压测并发数限定了在途请求数；服务器的席位、块与预算都有余。",
    ),
    predicts=Text(
        "Running flat at one number, nothing waiting, queue time about zero.",
        "运行数停在一个值，无等待，排队时间约为零。",
    ),
    role="limit",
    bias=-2.0,
    weights={
        "clients.pool": 3.5,  # flat in flight without a queue is the client
        "clients.waves": 4.0,  # an engine that runs dry and has nobody waiting is fed in waves
        "client.send_lag": 1.0,  # a client that is late limits itself
        "demand.low": -0.5,  # one stream is low demand
    },
    links=(
        Link(
            Text(
                "In flight does not move: {clients_pool}",
                "在途数不变：{clients_pool}",
            ),
            (Need("clients.pool"),),
            rejects=Text(
                "a cap of the engine: that would show a queue",
                "引擎上限：那样会有排队",
            ),
        ),
    ),
    other_links=(
        (
            Link(
                Text("Requests come in waves: {clients_waves}", "请求成批到来：{clients_waves}"),
                (Need("clients.waves"),),
                rejects=Text("a slow engine: nobody waits while it runs dry", "引擎慢：它跑空时无人等待"),
            ),
        ),
    ),
    numbers=(
        Text(
            "a pool of {clients_pool:.0f} requests",
            "并发池为 {clients_pool:.0f}",
        ),
        Text(
            "fed in waves of {clients_waves:.0f} requests",
            "每批 {clients_waves:.0f} 个请求",
        ),
    ),
    first_step=Text(
        "If more throughput is wanted, raise the client's concurrency; the server has room.",
        "若需要更高吞吐，提高客户端并发；服务器仍有余量。",
    ),
    look_alikes=(
        LookAlike(
            "seat_cap",
            Text(
                "others wait",
                "有人等待",
            ),
        ),
        LookAlike(
            "frontend_cpu",
            Text(
                "requests are stuck in the API process",
                "请求卡在 API 进程",
            ),
        ),
    ),
    order=5,
    explains_idle=True,
    settled_by=("client",),
)
