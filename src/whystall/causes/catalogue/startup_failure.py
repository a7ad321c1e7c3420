"""The server does not start."""

from __future__ import annotations

from whystall.causes.entry import CauseEntry, Link, LookAlike, Need
from whystall.model.text import Text

CAUSE = CauseEntry(
    id="startup_failure",
    title=Text(
        "Failed to start",
        "启动失败",
    ),
    what=Text(
        "The engine gave up while starting: no memory left for the KV cache, a length that does not "
        "fit, a GPU that another process holds, a bad flag or model. Nothing listens, or a "
        "supervisor tries again and again.",
        "引擎在启动时放弃：没有显存留给 KV 缓存、长度放不下、GPU 被其他进程占用、参数或模型错误。"
        "没有进程监听，或由守护程序反复重试。",
    ),
    predicts=Text(
        "No page, and a log that names why the start failed.",
        "没有指标页面，日志指出启动失败的原因。",
    ),
    role="limit",
    bias=-2.5,
    weights={
        "server.back": -4.0,  # a server that answers again has started
        "startup.failed": 6.0,  # the log says so itself
        "server.away": 1.0,  # nothing answers
    },
    links=(
        Link(
            Text(
                "A start failed: {startup_failed}",
                "启动失败：{startup_failed}",
            ),
            (Need("startup.failed"),),
            rejects=Text(
                "an engine that died while serving: it never served",
                "服务中死亡：它从未开始服务",
            ),
        ),
        Link(
            Text(
                "Nothing answers: {server_away}",
                "没有响应：{server_away}",
            ),
            (Need("server.away"),),
            optional=True,
        ),
    ),
    numbers=(
        Text(
            "{server_away:span} without a page",
            "{server_away:span}没有指标页面",
        ),
        Text(
            "the log says so",
            "日志如此显示",
        ),
    ),
    first_step=Text(
        "Read the first error of the log, not the last: it names the memory, length or flag that "
        "does not fit. Go back to the settings of the last start that worked.",
        "查看日志中的第一条而非最后一条错误：它指出放不下的显存、长度或错误的参数。恢复到上次成功启动的设置。",
    ),
    look_alikes=(
        LookAlike(
            "engine_dead",
            Text(
                "it had served before it died",
                "死亡前曾提供服务",
            ),
        ),
        LookAlike(
            "weight_loading",
            Text(
                "the start goes on: no error in the log",
                "启动仍在进行：日志无错误",
            ),
        ),
        LookAlike(
            "oom",
            Text(
                "memory ran out while serving",
                "在服务期间显存不足",
            ),
        ),
        LookAlike(
            "gpu_fault",
            Text(
                "an Xid line stands before it",
                "此前有 Xid 记录",
            ),
        ),
    ),
    hurts_as=(
        "away",
        "refusals",
        "stall",
    ),
    restart=True,
    order=0,
    onset_from=(
        "startup.failed",
        "server.away",
    ),
    settled_by=("log",),
)
