"""Pipeline stages wait for each other."""

from __future__ import annotations

from whystall.causes.entry import CauseEntry, Link, LookAlike, Need
from whystall.model.text import Text

CAUSE = CauseEntry(
    id="pipeline_bubble",
    title=Text(
        "Pipeline stages idle",
        "流水线阶段空闲",
    ),
    what=Text(
        "With pipeline parallelism a stage works on a batch only while the others work on other "
        "batches. With fewer batches in flight than stages, or stages of unequal length, each stage "
        "is idle for part of every step.",
        "流水线并行中，各阶段须处理不同批次才能同时工作。在途批次少于阶段数，或各阶段长短不一时，"
        "每个阶段每步都有空闲。",
    ),
    predicts=Text(
        "GPUs idle with requests at hand, about one minus batches over stages of the time.",
        "有请求时 GPU 空闲，约为 1 减去批次数与阶段数之比。",
    ),
    role="limit",
    bias=-2.5,
    weights={
        "pipeline.stages": 2.0,  # without stages there is no bubble
        "pipeline.idle": 3.5,  # the idle time itself
        "config.eager": -1.5,  # launches explain idle GPUs
        "engine.core": -1.5,  # an engine loop that fills its core explains them
        "cpu.throttled": -1.5,  # so does a quota
        "trace.exposed_collectives": -1.5,  # so do collectives
    },
    links=(
        Link(
            Text(
                "The model is cut into stages: {pipeline_stages}",
                "模型被切分为阶段：{pipeline_stages}",
            ),
            (Need("pipeline.stages"),),
        ),
        Link(
            Text(
                "Stages are idle with work at hand: {pipeline_idle}",
                "有活时阶段空闲：{pipeline_idle}",
            ),
            (Need("pipeline.idle"),),
            rejects=Text(
                "memory reads: a GPU that reads is busy",
                "显存读取：读取时 GPU 是忙的",
            ),
        ),
    ),
    numbers=(
        Text(
            "stages idle {pipeline_idle:.0%} of the time",
            "阶段有 {pipeline_idle:.0%} 的时间空闲",
        ),
    ),
    first_step=Text(
        "Use tensor parallelism inside a node instead of --pipeline-parallel-size, or fewer stages "
        "and more replicas; stages pay only with at least as many batches in flight.",
        "节点内用张量并行代替 --pipeline-parallel-size，或减少阶段、增加副本；在途批次不少于阶段数时流水线才划算。",
    ),
    look_alikes=(
        LookAlike(
            "launch_bound",
            Text(
                "CUDA graphs are off, and one stage is as idle",
                "CUDA graph 已关闭，单阶段同样空闲",
            ),
        ),
        LookAlike(
            "engine_loop_cpu",
            Text(
                "the engine process fills its core",
                "引擎进程占满其核",
            ),
        ),
        LookAlike(
            "comm_bound",
            Text(
                "collectives are exposed on all ranks in a trace",
                "剖析显示所有 rank 上集合通信未被掩盖",
            ),
        ),
        LookAlike(
            "straggler_rank",
            Text(
                "one rank is busy all the time, and it is the slow one",
                "有一个 rank 始终忙碌，且正是它慢",
            ),
        ),
    ),
    hurts_as=(
        "itl",
        "host_gap",
        "queue",
    ),
    restart=True,
    order=2,
    settled_by=(
        "config",
        "trace",
        "gpu",
    ),
)
