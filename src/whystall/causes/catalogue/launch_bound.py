"""Kernels are shorter than their launches."""

from __future__ import annotations

from whystall.causes.entry import CauseEntry, Link, LookAlike, Need
from whystall.causes.links import shown_by_contrast
from whystall.model.text import Text

_SLOW_STEPS = Link(
    Text("A step takes longer than its work can: {itl_beyond_memory}", "一步所需时间超过其工作量：{itl_beyond_memory}"),
    (Need("itl.beyond_memory"),),
    rejects=Text("memory bandwidth: even reading all of it is faster", "显存带宽：即使读完全部显存也更快"),
)
_BEYOND = (
    _SLOW_STEPS,
    Link(
        Text("Nothing replays the launches: {config_eager}", "没有机制重放启动：{config_eager}"),
        (Need("config.eager"),),
    ),
)
_GAP = (
    _SLOW_STEPS,
    Link(
        Text("No graph is large enough: {config_graph_gap}", "没有足够大的 graph：{config_graph_gap}"),
        (Need("config.graph_gap"),),
        rejects=Text("a hang: tokens still come", "挂起：token 仍在产生"),
    ),
)

CAUSE = CauseEntry(
    id="launch_bound",
    title=Text(
        "Launch-bound",
        "受内核启动限制",
    ),
    what=Text(
        "Without CUDA graphs every kernel is launched by itself from Python; for small models or batches that takes "
        "longer than the kernels.",
        "没有 CUDA graph 时每个内核都由 Python 单独启动；对小模型或小批量，这比内核本身更久。",
    ),
    predicts=Text(
        "GPU idle while requests run, step time about constant over the batch, --enforce-eager or a batch above the "
        "captured sizes.",
        "有请求运行而 GPU 空闲，步时几乎不随批量变化，使用 --enforce-eager 或批量超过捕获尺寸。",
    ),
    role="limit",
    bias=-2.5,
    weights={
        "contrast.eager": 7.0,  # the same load without it is better: no observation says more
        "trace.launch_gaps": 2.5,  # the trace sees the gaps themselves
        "step.host_gap": 3.0,  # the GPU waits for the host
        "config.graph_gap": 4.5,  # steps above the captured batches are launched one by one
        "itl.beyond_memory": 1.5,  # no read of the memory takes as long
        "config.eager": 3.0,  # graphs are what removes the launches
        "front.residual": -1.0,  # a slow front end points to a lack of cores
        "cpu.wanted": -1.5,  # likewise
        "cpu.throttled": -2.0,  # the quota explains it
        "step.pauses": -2.0,  # launches are in every step
        "step.on_gpu": -2.0,  # they leave the kernels as they were
        "engine.core": 0.5,  # launching keeps the process busy
    },
    links=(
        Link(
            Text(
                "The GPU is idle with work at hand: {step_host_gap}",
                "GPU 在有活时空闲：{step_host_gap}",
            ),
            (Need("step.host_gap"),),
            rejects=Text(
                "a small demand: requests run all the time",
                "需求低：一直有请求在运行",
            ),
        ),
        Link(
            Text(
                "Nothing replays the launches: {config_eager}",
                "没有机制重放启动：{config_eager}",
            ),
            (Need("config.eager"),),
            rejects=Text(
                "the engine loop: with graphs off the launches come first",
                "引擎循环：graph 关闭时首先是启动开销",
            ),
        ),
    ),
    other_links=(shown_by_contrast("eager"), _BEYOND, _GAP),
    numbers=(
        Text(
            "GPU idle {step_host_gap:.0%}, CUDA graphs off",
            "GPU 空闲 {step_host_gap:.0%}，CUDA graph 关闭",
        ),
        Text(
            "{itl_beyond_memory:~2} times as long as a read of all memory",
            "是读完全部显存所需时间的 {itl_beyond_memory:~2} 倍",
        ),
        Text(
            "{contrast_eager:~2} times worse with it than without",
            "使用时比不使用差 {contrast_eager:~2} 倍",
        ),
    ),
    first_step=Text(
        "Start without --enforce-eager: CUDA graphs replay a step's kernels in one launch (start-up takes longer, "
        "some memory goes to the graphs).",
        "启动时去掉 --enforce-eager：CUDA graph 用一次启动重放整步内核（启动更久，部分显存用于 graph）。",
    ),
    look_alikes=(
        LookAlike(
            "engine_loop_cpu",
            Text(
                "graphs are on and the gap lies between steps",
                "graph 已启用且空隙在步与步之间",
            ),
        ),
        LookAlike(
            "low_demand",
            Text(
                "the engine pauses between requests",
                "引擎在请求之间停顿",
            ),
        ),
    ),
    hurts_as=("host_gap", "itl", "contrast"),
    restart=True,
    order=2,
    settled_by=("config", "gpu", "trace"),
)
