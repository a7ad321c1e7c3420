"""Kernels are compiled while serving."""

from __future__ import annotations

from whystall.causes.entry import CauseEntry, Link, LookAlike, Need
from whystall.causes.links import STOOD_STILL, shown_by_contrast
from whystall.model.text import Text

CAUSE = CauseEntry(
    id="jit_compile",
    title=Text(
        "Compilation while serving",
        "服务期间编译",
    ),
    what=Text(
        "A shape or path that the warm-up did not cover is compiled at its first use; every request waits for it, "
        "once for each shape.",
        "预热未覆盖的形状或路径在首次使用时被编译；所有请求都为其等待，每个形状一次。",
    ),
    predicts=Text(
        "Standstills or late tokens around compile lines, at first-seen shapes only.",
        "编译记录附近出现停顿或 token 延迟，且仅在首次出现的形状上。",
    ),
    role="limit",
    bias=-2.5,
    weights={
        "contrast.first_run": 7.0,  # the same load without it is better: no observation says more
        "log.jit_compile": 5.0,  # the compiler says so
        "progress.stalled": 1.0,  # everything waits for it
        "log.profiler": -2.0,  # a profiler explains the standstill
    },
    links=(
        Link(
            Text(
                "Something was compiled: {log_jit_compile}",
                "发生了编译：{log_jit_compile}",
            ),
            (Need("log.jit_compile"),),
            rejects=Text(
                "a collection pause: the log names the compiler",
                "GC 停顿：日志点明了编译器",
            ),
        ),
        STOOD_STILL,
    ),
    other_links=(shown_by_contrast("first_run"),),
    numbers=(
        Text(
            "{log_jit_compile:one compilation|# compilations}",
            "{log_jit_compile:.0f} 次编译",
        ),
        Text(
            "{contrast_first_run:~2} times worse with it than without",
            "使用时比不使用差 {contrast_first_run:~2} 倍",
        ),
    ),
    first_step=Text(
        "Warm up with the shapes that come in service (batch sizes, long prompts, schemas) before traffic is sent; "
        "keep the compile cache over restarts.",
        "在接入流量前用实际形状（批大小、长提示、schema）预热；重启时保留编译缓存。",
    ),
    look_alikes=(
        LookAlike(
            "gc_pause",
            Text(
                "recurs at any shape",
                "在任何形状下都会重复",
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
    hurts_as=("stall", "itl", "host_gap", "contrast"),
    order=1,
    onset_from=("log.jit_compile",),
    settled_by=("log",),
)
