"""The server's processes want CPU and do not get it."""

from __future__ import annotations

from whystall.causes.entry import CauseEntry, Link, LookAlike, Need
from whystall.causes.links import seen_in_contrast
from whystall.model.text import Text

CAUSE = CauseEntry(
    id="cpu_starved",
    title=Text(
        "Starved of CPU",
        "CPU 不足",
    ),
    what=Text(
        "Too few cores, a cgroup quota or strangers on the host: API process, engine loop and workers wait for a "
        "core, and GPU and users wait with them.",
        "核数太少、cgroup 配额或主机上的其他负载：API 进程、引擎循环与 worker 等待 CPU，GPU 与用户随之等待。",
    ),
    predicts=Text(
        "Time in the front end or between steps while no process fills its core; throttling or run delay where it "
        "can be read.",
        "时间耗在前端或步与步之间，而没有进程用满自己的核；可读取时能看到限流或运行延迟。",
    ),
    role="limit",
    bias=-3.5,
    weights={
        "cpu.wanted": 4.0,  # work waits in a process that is not busy: it waits for a core
        "cpu.throttled": 5.0,  # the quota itself counts the pauses
        "cpu.run_delay": 4.0,  # ready and not running is the definition
        "cpu.pressure": 1.0,  # somebody waits for a core, if not we alone
        "cpu.crowded": 2.0,  # no core is free
        "step.host_gap": 0.7,  # the GPU waits, too
        "front.residual": 0.7,  # the front end waits
        "engine.core": -1.0,  # a process that fills its core is its own limit
        "api.core": -1.0,  # likewise
    },
    links=(
        Link(
            Text(
                "Processes wait for a core: {cpu_wanted}",
                "进程在等核：{cpu_wanted}",
            ),
            (Need("cpu.wanted"),),
            rejects=Text(
                "a busy front end: its process does not fill a core",
                "前端繁忙：其进程并未用满一个核",
            ),
            optional=True,
        ),
        Link(
            Text(
                "The quota stops them: {cpu_throttled}",
                "配额使其停顿：{cpu_throttled}",
            ),
            (Need("cpu.throttled"),),
            optional=True,
        ),
        Link(
            Text(
                "They are ready and not running: {cpu_run_delay}",
                "它们就绪却没有运行：{cpu_run_delay}",
            ),
            (Need("cpu.run_delay"),),
            optional=True,
        ),
        Link(
            Text(
                "The GPU waits with them: {step_host_gap}",
                "GPU 随之等待：{step_host_gap}",
            ),
            (Need("step.host_gap"),),
            rejects=Text(
                "a slow GPU: it is idle",
                "GPU 慢：它是空闲的",
            ),
            optional=True,
        ),
    ),
    numbers=(
        Text(
            "stopped {cpu_throttled:.0%} of the time by its quota",
            "{cpu_throttled:.0%} 的时间被配额停顿",
        ),
        Text(
            "ready without a CPU {cpu_run_delay:~2} s a second",
            "每秒 {cpu_run_delay:~2} 秒就绪却无 CPU",
        ),
        Text(
            "front end slow at {cpu_wanted:.2f} of a core",
            "前端在 {cpu_wanted:.2f} 个核上就已变慢",
        ),
    ),
    first_step=Text(
        "Give the server more cores: lift the cgroup's CPU quota or the affinity mask (two cores for API and engine, "
        "one a GPU worker, and some to spare).",
        "给服务器更多核：放宽 cgroup CPU 配额或亲和性掩码（API 与引擎各一核，每个 GPU worker 一核，并留余量）。",
    ),
    look_alikes=(
        LookAlike(
            "frontend_cpu",
            Text(
                "the API process fills its core",
                "API 进程用满了自己的核",
            ),
        ),
        LookAlike(
            "engine_loop_cpu",
            Text(
                "the engine process fills its core",
                "引擎进程用满了自己的核",
            ),
        ),
        LookAlike(
            "launch_bound",
            Text(
                "CUDA graphs are off",
                "CUDA graph 已关闭",
            ),
        ),
    ),
    hurts_as=("front", "host_gap", "itl", "client"),
    order=1,
    settled_by=("host",),
)

CAUSE = seen_in_contrast(CAUSE, "cpu")
