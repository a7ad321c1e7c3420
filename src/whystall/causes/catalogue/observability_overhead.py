"""A profiler or tracer stops the engine."""

from __future__ import annotations

from whystall.causes.entry import CauseEntry, Link, LookAlike, Need
from whystall.causes.links import shown_by_contrast
from whystall.model.text import Text

CAUSE = CauseEntry(
    id="observability_overhead",
    title=Text(
        "Profiler stalls serving",
        "分析器使服务停顿",
    ),
    what=Text(
        "Writing a profile blocks the worker: every request stands still until the file is flushed.",
        "写出性能剖析会阻塞 worker：在文件写完之前所有请求停止。",
    ),
    predicts=Text(
        "A total standstill of seconds to minutes around a profiler line of the log; the GPU idle; normal before and "
        "after.",
        "日志的分析器行附近出现数秒至数分钟的完全停顿；GPU 空闲；前后正常。",
    ),
    role="limit",
    bias=-4.0,
    weights={
        "contrast.profiler": 7.0,  # the same load without it is better: no observation says more
        "trace.overhead": 1.0,  # the profiler in its own window
        "progress.stalled": 2.0,  # everything stands still
        "log.profiler": 4.0,  # a profiler window around it
    },
    links=(
        Link(
            Text(
                "Everything stood still: {progress_stalled}",
                "一切停止：{progress_stalled}",
            ),
            (Need("progress.stalled"),),
            rejects=Text(
                "a slow step: no token came for anybody",
                "某步较慢：没有任何 token 产生",
            ),
        ),
        Link(
            Text(
                "A profiler was at work: {log_profiler}",
                "分析器正在工作：{log_profiler}",
            ),
            (Need("log.profiler"),),
            rejects=Text(
                "a collection pause or a compilation: the log names the profiler",
                "GC 停顿或编译：日志点明了分析器",
            ),
        ),
    ),
    other_links=(shown_by_contrast("profiler"),),
    numbers=(
        Text(
            "a standstill of {progress_stalled:span}",
            "停顿 {progress_stalled:span}",
        ),
        Text(
            "{contrast_profiler:~2} times worse with it than without",
            "使用时比不使用差 {contrast_profiler:~2} 倍",
        ),
    ),
    first_step=Text(
        "Profile a replica without traffic, bounded by 20 to 50 steps and without stacks.",
        "在无流量的副本上剖析，限制在 20 至 50 步，且不带调用栈。",
    ),
    look_alikes=(
        LookAlike(
            "engine_hang",
            Text(
                "it does not end",
                "它不会结束",
            ),
        ),
    ),
    hurts_as=("stall", "contrast"),
    order=0,
    onset_from=("progress.stalled", "log.profiler"),
    settled_by=("log",),
)
