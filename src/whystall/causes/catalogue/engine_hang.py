"""The engine has stopped advancing and does not come back."""

from __future__ import annotations

from whystall.causes.entry import CauseEntry, Link, LookAlike, Need
from whystall.model.text import Text

CAUSE = CauseEntry(
    id="engine_hang",
    title=Text(
        "Engine hung",
        "引擎挂起",
    ),
    what=Text(
        "Requests are in flight and no counter has moved for half a minute or more, to the end of the window. "
        "/health often still answers 200: it asks the front end.",
        "有请求在途而计数器已停滞半分钟以上，直到窗口结束。/health 常仍返回 200：它询问的是前端。",
    ),
    predicts=Text(
        "Running or waiting above zero, all token and step counters flat.",
        "运行或等待数大于零，所有 token 与步计数器停滞。",
    ),
    role="limit",
    bias=-2.5,
    weights={
        "log.engine_dead": -3.0,  # a process that ended does not hang
        "log.out_of_memory": -2.0,  # memory failed first
        "log.gpu_fault": -2.0,  # the GPU failed first
        "log.rank_stalled": 1.0,  # a process that waits for another names the place
        "progress.frozen": 6.0,  # flat counters with requests in flight
    },
    links=(
        Link(
            Text(
                "Nothing advances: {progress_frozen}",
                "没有任何推进：{progress_frozen}",
            ),
            (Need("progress.frozen"),),
            rejects=Text(
                "an idle server: requests are in flight; a passing stall: it has not ended",
                "空闲服务器：有请求在途；短暂停顿：它尚未结束",
            ),
        ),
    ),
    numbers=(
        Text(
            "no progress for {progress_frozen:span}",
            "{progress_frozen:span}没有进展",
        ),
    ),
    first_step=Text(
        "Save the evidence first (py-spy dump of EngineCore and workers, the last log lines, dmesg for Xid), then "
        "restart this replica.",
        "先保存证据（EngineCore 与 worker 的 py-spy dump、最后的日志、dmesg 中的 Xid），再重启该副本。",
    ),
    look_alikes=(
        LookAlike(
            "observability_overhead",
            Text(
                "a profiler line stands in the log and it ends",
                "日志有分析器行且会结束",
            ),
        ),
        LookAlike(
            "low_demand",
            Text(
                "nothing is in flight",
                "没有在途请求",
            ),
        ),
    ),
    hurts_as=("stall",),
    restart=True,
    order=0,
    onset_from=("progress.frozen",),
    settled_by=("metrics", "log"),
)
