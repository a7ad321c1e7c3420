"""The GPU or its link reported a fault."""

from __future__ import annotations

from whystall.causes.entry import CauseEntry, Link, LookAlike, Need
from whystall.causes.links import NOTHING_ADVANCES
from whystall.model.text import Text

CAUSE = CauseEntry(
    id="gpu_fault",
    title=Text(
        "GPU fault",
        "GPU 故障",
    ),
    what=Text(
        "The driver reported an Xid: memory errors, a fallen-off bus, a broken link. Software after it fails or hangs.",
        "驱动报告了 Xid：显存错误、掉卡、链路故障。其后的软件会失败或挂起。",
    ),
    predicts=Text(
        "An Xid line before the engine's own errors.",
        "在引擎自身错误之前有 Xid 记录。",
    ),
    role="limit",
    bias=-4.0,
    weights={
        "log.gpu_fault": 6.5,  # the driver says so
        "progress.frozen": 0.5,  # the engine stops with it
    },
    links=(
        Link(
            Text(
                "The driver reported it: {log_gpu_fault}",
                "驱动已报告：{log_gpu_fault}",
            ),
            (Need("log.gpu_fault"),),
            rejects=Text(
                "a software deadlock: that leaves no Xid",
                "软件死锁：那不会留下 Xid",
            ),
        ),
        NOTHING_ADVANCES,
    ),
    numbers=(
        Text(
            "{log_gpu_fault:one Xid line|# Xid lines}",
            "{log_gpu_fault:.0f} 条 Xid 记录",
        ),
    ),
    first_step=Text(
        "Take the GPU out of service, keep dmesg and nvidia-smi -q, and move the replica.",
        "停用该 GPU，保留 dmesg 与 nvidia-smi -q 输出，并迁移副本。",
    ),
    look_alikes=(
        LookAlike(
            "engine_hang",
            Text(
                "no Xid before the stop",
                "停止之前没有 Xid",
            ),
        ),
        LookAlike(
            "gpu_throttle",
            Text(
                "the clock is low, nothing fails",
                "时钟偏低，但没有失败",
            ),
        ),
    ),
    hurts_as=("stall", "refusals", "away", "itl", "queue"),
    order=0,
    onset_from=("log.gpu_fault",),
    settled_by=("log",),
)
