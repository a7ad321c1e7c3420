"""Kernels are shorter than their launches."""

from __future__ import annotations

from whystall.causes.entry import CauseEntry, Link, LookAlike, Need
from whystall.model.text import Text

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
    bias=-4.0,
    weights={
        "trace.launch_gaps": 2.5,  # the trace sees the gaps themselves
        "step.host_gap": 3.0,  # the GPU waits for the host
        "config.eager": 3.0,  # graphs are what removes the launches
        "front.residual": -1.0,  # a slow front end points to a lack of cores
        "cpu.wanted": -1.5,  # likewise
        "cpu.throttled": -2.0,  # the quota explains it
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
    numbers=(
        Text(
            "GPU idle {step_host_gap:.0%}, CUDA graphs off",
            "GPU 空闲 {step_host_gap:.0%}，CUDA graph 关闭",
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
    hurts_as=("host_gap", "itl"),
    restart=True,
    order=2,
    settled_by=("config", "gpu", "trace"),
)
