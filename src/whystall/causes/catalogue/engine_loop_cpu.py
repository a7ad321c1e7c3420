"""The engine loop's Python is longer than the GPU's work."""

from __future__ import annotations

from whystall.causes.entry import CauseEntry, Link, LookAlike, Need
from whystall.causes.links import seen_in_contrast
from whystall.model.text import Text

CAUSE = CauseEntry(
    id="engine_loop_cpu",
    title=Text(
        "Engine loop CPU-bound",
        "引擎循环 CPU 受限",
    ),
    what=Text(
        "Scheduling, input preparation and output handling of a step take longer than its kernels, so the GPU waits "
        "for the host between steps.",
        "一步的调度、输入准备与输出处理比内核更久，GPU 在步与步之间等待主机。",
    ),
    predicts=Text(
        "GPU idle while requests run, graphs on, the EngineCore process at one core.",
        "有请求运行而 GPU 空闲，graph 已启用，EngineCore 进程用满一个核。",
    ),
    role="limit",
    bias=-3.0,
    weights={
        "trace.step_gaps": 2.5,  # the trace sees the gaps themselves
        "step.host_gap": 3.0,  # the GPU waits for the host
        "step.on_gpu": -2.5,  # the excess lies between the kernels
        "excess.by_tokens": -1.5,  # a loop costs a step and a sequence, not a prompt's token
        "step.pauses": -2.5,  # single pauses are no slow loop
        "engine.core": 3.5,  # the loop fills its core
        "budget.binds": -1.5,  # steps that the budget keeps small leave the GPU idle
        "config.eager": -2.0,  # without graphs the launches are the first suspect
        "front.residual": -1.0,  # a slow front end points to a lack of cores
        "cpu.wanted": -1.5,  # likewise
        "cpu.throttled": -2.0,  # the quota explains it
    },
    links=(
        Link(
            Text(
                "The GPU waits between steps: {step_host_gap}",
                "GPU 在步间等待：{step_host_gap}",
            ),
            (Need("step.host_gap"),),
            rejects=Text(
                "a slow GPU or a small demand: it idles with work at hand",
                "GPU 慢或需求低：它在有活时空闲",
            ),
        ),
        Link(
            Text(
                "Launches are replayed from graphs: {config_eager}",
                "启动由 graph 重放：{config_eager}",
            ),
            (Need("config.eager", -0.5, below=True),),
            rejects=Text(
                "launch-bound steps: graphs take the launches away",
                "受内核启动限制：graph 已消除启动开销",
            ),
        ),
        Link(
            Text(
                "The loop fills its core: {engine_core}",
                "循环用满一个核：{engine_core}",
            ),
            (Need("engine.core"),),
            optional=True,
        ),
    ),
    numbers=(
        Text(
            "GPU idle {step_host_gap:.0%} with work at hand",
            "GPU 在有活时空闲 {step_host_gap:.0%}",
        ),
    ),
    first_step=Text(
        "Check that asynchronous scheduling is on (the log says so at the start); profile ten seconds of the "
        "EngineCore process with py-spy.",
        "检查异步调度是否启用（启动日志会写明）；用 py-spy 对 EngineCore 进程采样十秒。",
    ),
    look_alikes=(
        LookAlike(
            "launch_bound",
            Text(
                "CUDA graphs are off, or the batch is above the largest captured one",
                "CUDA graph 关闭，或批量超过最大捕获值",
            ),
        ),
        LookAlike(
            "cpu_starved",
            Text(
                "no process fills its core",
                "没有进程用满自己的核",
            ),
        ),
    ),
    hurts_as=("host_gap", "itl"),
    order=3,
    settled_by=("host", "trace"),
)

CAUSE = seen_in_contrast(CAUSE, "engine_loop")
