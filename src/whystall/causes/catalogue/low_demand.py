"""Few requests come; the server waits for them."""

from __future__ import annotations

from whystall.causes.entry import CauseEntry, Link, LookAlike, Need
from whystall.model.text import Text

CAUSE = CauseEntry(
    id="low_demand",
    title=Text(
        "Low demand",
        "需求低",
    ),
    what=Text(
        "Little is asked of the server. GPU_UTIL may read high all the same: it counts the time with any kernel.",
        "对服务器的请求很少。GPU_UTIL 仍可能很高：它统计的是有任何内核运行的时间。",
    ),
    predicts=Text(
        "One or two sequences running, nothing waiting, latencies normal.",
        "一两个序列在运行，无等待，延迟正常。",
    ),
    role="limit",
    bias=-2.0,
    weights={
        "demand.low": 4.0,  # running and waiting say what is asked
    },
    links=(
        Link(
            Text(
                "Little is asked: {demand_low}",
                "请求很少：{demand_low}",
            ),
            (Need("demand.low"),),
            rejects=Text(
                "a server that cannot do more: nobody waits",
                "服务器无法做更多：无人等待",
            ),
        ),
    ),
    numbers=(
        Text(
            "{demand_low:.1f} requests run",
            "运行 {demand_low:.1f} 个请求",
        ),
    ),
    first_step=Text(
        "Nothing to mend here: more requests at once would use the GPU better.",
        "此处无需修复：同时发送更多请求可以更好地利用 GPU。",
    ),
    look_alikes=(
        LookAlike(
            "client_limited",
            Text(
                "in flight is flat at the client's pool size",
                "在途数停在客户端并发数",
            ),
        ),
        LookAlike(
            "launch_bound",
            Text(
                "the GPU is idle while requests run",
                "有请求运行而 GPU 空闲",
            ),
        ),
    ),
    order=5,
    explains_idle=True,
    settled_by=("metrics",),
)
