"""A process grows until it is killed."""

from __future__ import annotations

import msgspec

from whystall.causes.entry import CauseEntry, Link, LookAlike, Need
from whystall.causes.links import seen_in_contrast
from whystall.model.text import Text

# A process that grows hurts nobody before it comes to its end.
_GROWS = Link(
    Text(
        "A process grows without end: {memory_growth}",
        "进程不断增长：{memory_growth}",
    ),
    (Need("memory.growth"),),
    rejects=Text(
        "a cache that fills: its growth bends off",
        "缓存填充：其增长会趋缓",
    ),
)
_KILLED = Link(
    Text(
        "The kernel ended a process: {log_killed}",
        "内核结束了进程：{log_killed}",
    ),
    (Need("log.killed"),),
    optional=True,
)
_AWAY = Link(
    Text(
        "The server was away: {server_away}",
        "服务器曾消失：{server_away}",
    ),
    (Need("server.away"),),
)
_FREED = Link(
    Text(
        "The restart freed it: {memory_dropped}",
        "重启释放了内存：{memory_dropped}",
    ),
    (Need("memory.dropped"),),
    rejects=Text(
        "the load: it was the same before and after",
        "负载：前后相同",
    ),
    optional=True,
)

CAUSE = CauseEntry(
    id="host_memory_leak",
    title=Text(
        "Host memory leak",
        "主机内存泄漏",
    ),
    what=Text(
        "A process of the server grows steadily. A line of memory does not slow a step; it ends in "
        "swapping, or in the kernel killing the process, and the server starts anew.",
        "服务器的某个进程持续增长。内存线性增长不会拖慢单步；它以换页或内核杀死进程告终，随后服务器重新启动。",
    ),
    predicts=Text(
        "Resident memory in a rising line, less after a restart, an exit code -9.",
        "常驻内存呈上升直线，重启后变小，退出码 -9。",
    ),
    role="limit",
    bias=-2.5,
    weights={
        "memory.growth": 3.5,  # a line that ends soon
        "memory.dropped": 2.0,  # the restart gave it back
        "log.killed": 3.0,  # the kernel killed for memory
        "server.away": 0.5,  # its end is a restart
        "config.changed": -2.0,  # a restart for new settings was meant
        "startup.failed": -2.0,  # a start that fails is another story
    },
    links=(_GROWS, _AWAY, _FREED, _KILLED),
    other_links=((_GROWS, msgspec.structs.replace(_KILLED, optional=False)),),
    numbers=(
        Text(
            "{memory_growth:~2} GB an hour",
            "每小时 {memory_growth:~2} GB",
        ),
    ),
    first_step=Text(
        "Restart replicas on a schedule before the limit as a stopgap, and find what grows: py-spy "
        "or memray on the process named above, with the feature switched off that it serves.",
        "作为权宜之计，在到达上限前按计划重启副本；再用 py-spy 或 memray 查看上述进程，逐一关闭其功能以找出增长来源。",
    ),
    look_alikes=(
        LookAlike(
            "oom",
            Text(
                "the GPU is out of memory, the host is not",
                "显存不足，主机内存充足",
            ),
        ),
        LookAlike(
            "config_regression",
            Text(
                "the restart changed settings",
                "重启改变了设置",
            ),
        ),
        LookAlike(
            "gc_pause",
            Text(
                "pauses grow with the heap, and nothing is killed",
                "停顿随堆增长，但没有进程被杀",
            ),
        ),
        LookAlike(
            "engine_dead",
            Text(
                "the processes had not grown",
                "进程并未增长",
            ),
        ),
    ),
    hurts_as=(
        "away",
        "stall",
        "refusals",  # nobody takes connections of a server that was killed
    ),
    restart=True,
    order=1,
    onset_from=("memory.growth",),
    settled_by=(
        "host",
        "log",
    ),
)

CAUSE = seen_in_contrast(CAUSE, "leak")
