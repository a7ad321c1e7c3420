"""The garbage collector stops the engine loop."""

from __future__ import annotations

from whystall.causes.entry import CauseEntry, Link, LookAlike, Need
from whystall.causes.links import STOOD_STILL
from whystall.model.text import Text

CAUSE = CauseEntry(
    id="gc_pause",
    title=Text(
        "Garbage collection pauses",
        "垃圾回收停顿",
    ),
    what=Text(
        "A full collection of a large Python heap stops the engine loop for tenths of seconds to seconds; it recurs "
        "and grows with uptime.",
        "大型 Python 堆的完整回收会使引擎循环停顿零点几秒到数秒；它会重复出现并随运行时间增长。",
    ),
    predicts=Text(
        "Total standstills that recur in time and end by themselves; GC lines where VLLM_GC_DEBUG is set.",
        "按时间重复、自行结束的完全停顿；设置 VLLM_GC_DEBUG 时有 GC 记录。",
    ),
    role="limit",
    bias=-2.5,
    weights={
        "log.gc_pause": 5.0,  # the collector says so
        "progress.stalled": 1.0,  # everything waits for it
        "log.profiler": -2.0,  # a profiler explains the standstill
        "log.jit_compile": -2.0,  # so does a compilation
    },
    links=(
        Link(
            Text(
                "The collector ran: {log_gc_pause}",
                "回收器运行：{log_gc_pause}",
            ),
            (Need("log.gc_pause"),),
            rejects=Text(
                "a compilation: the log names the collector",
                "编译：日志点明了回收器",
            ),
        ),
        STOOD_STILL,
    ),
    numbers=(
        Text(
            "{log_gc_pause:one pause|# pauses} in the log",
            "日志中 {log_gc_pause:.0f} 次停顿",
        ),
    ),
    first_step=Text(
        "Update to a version that freezes the heap after start-up; until then restart long-lived replicas in turn.",
        "升级到启动后冻结堆的版本；在此之前轮流重启长时间运行的副本。",
    ),
    look_alikes=(
        LookAlike(
            "jit_compile",
            Text(
                "first-seen shapes only",
                "仅限首次出现的形状",
            ),
        ),
        LookAlike(
            "observability_overhead",
            Text(
                "a profiler line stands in the log",
                "日志中有分析器记录",
            ),
        ),
    ),
    hurts_as=("stall", "itl", "host_gap"),
    order=1,
    onset_from=("log.gc_pause",),
    settled_by=("log",),
)
