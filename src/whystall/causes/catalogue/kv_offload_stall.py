"""Steps wait for KV blocks that come back from the host's memory."""

from __future__ import annotations

from whystall.causes.entry import CauseEntry, Link, LookAlike, Need
from whystall.causes.links import STEPS_ARE_SLOWER, shown_by_contrast
from whystall.model.text import Text

_FROM_OUTSIDE = Link(
    Text("Blocks come from outside the GPU: {config_kv_offload}", "块来自 GPU 之外：{config_kv_offload}"),
    (Need("config.kv_offload"),),
)
_WITH_EACH_PROMPT = (
    STEPS_ARE_SLOWER,
    Link(
        Text("It grows with the prompts' tokens: {excess_by_tokens}", "它随提示的 token 数增长：{excess_by_tokens}"),
        (Need("excess.by_tokens"),),
        rejects=Text("what every step loses alike: the engine's loop", "每步相同的损失：引擎循环"),
    ),
    Link(
        Text("The GPU waits meanwhile: {step_on_gpu}", "其间 GPU 在等待：{step_on_gpu}"),
        (Need("step.on_gpu", 0.0, below=True),),
        rejects=Text("the kernels: they take what they took", "内核：其耗时未变"),
    ),
    _FROM_OUTSIDE,
)

_PAUSES = Link(
    Text("Single pauses, not slow steps: {step_pauses}", "是单次停顿而非步变慢：{step_pauses}"),
    (Need("step.pauses"),),
    rejects=Text("the engine's loop and its kernels, which make every step longer", "引擎循环与内核：它们使每步变长"),
)
_BESIDE_OTHERS = (
    _PAUSES,
    _FROM_OUTSIDE,
    Link(
        Text("The log names few of the pauses: {pauses_unnamed}", "日志只说明了少数停顿：{pauses_unnamed}"),
        (Need("pauses.unnamed"),),
        rejects=Text("garbage collection and compilation alone", "仅由垃圾回收与编译造成"),
    ),
)

CAUSE = CauseEntry(
    id="kv_offload_stall",
    title=Text("KV offloading stalls steps", "KV 卸载使步停顿"),
    what=Text(
        "Blocks that were moved to the host's memory or a disk are loaded before a step may run; a slow bus or tier "
        "makes everybody wait for them.",
        "被移到主机内存或磁盘的块须在步运行前载入；慢的总线或存储层使所有请求等待。",
    ),
    predicts=Text(
        "Pauses of many steps' length with the GPU idle, between steps as fast as ever; offloading is configured.",
        "出现相当于许多步的停顿且 GPU 空闲，其间的步一如既往地快；配置了卸载。",
    ),
    role="limit",
    bias=-3.0,
    weights={
        "contrast.offload": 7.0,  # the same load without it is better: no observation says more
        "config.kv_offload": 2.5,  # without it no step waits for blocks
        "step.pauses": 3.5,  # single waits, not slow steps
        "pauses.unnamed": 0.1,  # of which the log has no line
        "excess.by_tokens": 1.5,  # or each prompt's blocks are waited for in its steps
        "step.host_gap": 1.0,  # the GPU idles meanwhile
        "step.residual": -1.0,  # the steps between are as fast as ever
        "log.gc_pause": -1.0,  # the collector says that it was it
        "log.jit_compile": -1.0,  # so does the compiler
        "log.profiler": -1.0,  # and the profiler
        "cpu.throttled": -2.0,  # the quota pauses, too
        "itl.mixed_steps": -1.0,  # long prompts make long gaps
    },
    links=(
        _PAUSES,
        _FROM_OUTSIDE,
        Link(
            Text("The GPU has nothing to do meanwhile: {step_host_gap}", "其间 GPU 无事可做：{step_host_gap}"),
            (Need("step.host_gap", 0.0),),
            optional=True,
        ),
        Link(
            Text(
                "The log names no other pause: {log_gc_pause}; {log_jit_compile}",
                "日志没有其他停顿：{log_gc_pause}；{log_jit_compile}",
            ),
            (Need("log.gc_pause", 0.3, below=True), Need("log.jit_compile", 0.3, below=True)),
            rejects=Text("garbage collection and compilation", "垃圾回收与编译"),
        ),
    ),
    other_links=(_BESIDE_OTHERS, _WITH_EACH_PROMPT, shown_by_contrast("offload")),
    numbers=(
        Text("{step_pauses:.0%} of the lost time in pauses", "损失时间的 {step_pauses:.0%} 在停顿中"),
        Text("{contrast_offload:~2} times worse with it than without", "使用时比不使用差 {contrast_offload:~2} 倍"),
    ),
    first_step=Text(
        "Run one replica without offloading and compare; if it is faster, recompute is cheaper than this tier: take "
        "offloading away or move it to faster memory (pinned, the GPU's own NUMA node).",
        "让一个副本不使用卸载并比较；若更快，则重算比该存储层更划算：去掉卸载或移到更快的内存（锁页、GPU 所在 NUMA 节点）。",
    ),
    look_alikes=(
        LookAlike("engine_loop_cpu", Text("every step is longer, there are no pauses", "每步都更久，没有停顿")),
        LookAlike("gc_pause", Text("the log says so", "日志写明")),
        LookAlike("jit_compile", Text("the log says so, and it ends", "日志写明，且会结束")),
    ),
    hurts_as=("itl", "host_gap", "queue", "stall", "contrast"),
    restart=True,
    order=2,
    settled_by=("config", "log", "trace"),
)
