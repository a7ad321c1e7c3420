"""The engine process died; the front end may still answer."""

from __future__ import annotations

from whystall.causes.entry import CauseEntry, Link, LookAlike, Need
from whystall.causes.links import NOTHING_ADVANCES
from whystall.model.text import Text

CAUSE = CauseEntry(
    id="engine_dead",
    title=Text(
        "Engine died",
        "引擎死亡",
    ),
    what=Text(
        "EngineCore or a worker ended. The front end keeps its counters for a while, requests in flight never "
        "finish, /health answers 503.",
        "EngineCore 或某个 worker 已退出。前端的计数器还会保留一段时间，在途请求不会完成，/health 返回 503。",
    ),
    predicts=Text(
        "Flat counters with requests in flight and a death line in the log.",
        "在途请求存在而计数器停滞，日志中有死亡记录。",
    ),
    role="limit",
    bias=-2.5,
    weights={
        "log.engine_dead": 6.0,  # the process says so itself
        "progress.frozen": 1.0,  # nothing advances after it
        "log.out_of_memory": -2.0,  # then memory is the cause and death its effect
        "log.gpu_fault": -2.0,  # likewise the GPU
    },
    links=(
        Link(
            Text(
                "The engine ended: {log_engine_dead}",
                "引擎已退出：{log_engine_dead}",
            ),
            (Need("log.engine_dead"),),
            rejects=Text(
                "a hang: the process is gone",
                "挂起：进程已不存在",
            ),
        ),
        NOTHING_ADVANCES,
    ),
    numbers=(
        Text(
            "nothing answers since {progress_frozen:span}",
            "已 {progress_frozen:span}没有响应",
        ),
        Text(
            "the log says so",
            "日志如此显示",
        ),
    ),
    first_step=Text(
        "Keep the log from the first error on (the first one names the cause), then restart the replica.",
        "保留自第一条错误起的日志（第一条指出原因），然后重启该副本。",
    ),
    look_alikes=(
        LookAlike(
            "engine_hang",
            Text(
                "no death line, the process lives",
                "没有死亡记录，进程仍在",
            ),
        ),
        LookAlike(
            "oom",
            Text(
                "an out-of-memory error stands before the death",
                "死亡之前有显存不足错误",
            ),
        ),
    ),
    hurts_as=("stall", "refusals", "away"),
    order=1,
    onset_from=("log.engine_dead", "progress.frozen"),
    restart=True,
    settled_by=("log",),
)
