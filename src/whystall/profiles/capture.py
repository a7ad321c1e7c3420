"""The right command to record a profile of a server: what each tool shows, costs, and needs at the start."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping
from typing import Literal

import msgspec

from whystall.model.text import Text

TOOLS = ("torch", "nsys", "ncu", "py-spy", "ray", "spans")
Tool = Literal["torch", "nsys", "ncu", "py-spy", "ray", "spans"]
_OLDEST_CONFIG = (0, 13)  # --profiler-config replaced environment variables in 0.13
SAMPLED = (0.01, 0.05)  # of requests: enough for a distribution, too little to be felt


class Facts(msgspec.Struct, frozen=True):
    """What is known of the server. ``model`` and ``argv`` fill its start command in; ``profiler`` is how it started."""

    address: str = "http://127.0.0.1:8000"
    version: str = ""
    profiler: str = ""  # torch, cuda, or "" where it was not started with one
    model: str = "MODEL"
    engine_pid: int | None = None
    folder: str = "/tmp/profiles"
    steps: int = 50
    seconds: float = 5.0
    sampling: str = ""  # what OTEL_TRACES_SAMPLER and its argument are, where that was seen


class Capture(msgspec.Struct, frozen=True):
    """The JSON contract ``whystall.profile/1``. ``stalls`` says that the server stands still while it writes."""

    tool: Tool
    shows: Text
    cost: Text
    commands: tuple[str, ...]
    read: str
    stalls: bool
    restart: bool
    notes: tuple[Text, ...] = ()
    schema: Literal["whystall.profile/1"] = "whystall.profile/1"


def capture(tool: Tool, facts: Facts) -> Capture:
    """How to record with ``tool``. Every window is bounded, by steps where the tool can, else by seconds."""
    return _BUILDERS[tool](facts)


def _version(text: str) -> tuple[int, int]:
    parts = text.lstrip("v").split(".")
    digits = [part for part in parts[:2] if part.isdigit()]
    return (int(digits[0]), int(digits[1])) if len(digits) == 2 else (99, 0)


def start_arguments(facts: Facts, kind: str = "torch") -> str:
    """What a server must be started with to be profiled; in the form of its version."""
    if _version(facts.version) < _OLDEST_CONFIG:
        folder = shlex.quote(facts.folder)
        return f"VLLM_TORCH_PROFILER_DIR={folder} VLLM_TORCH_PROFILER_WITH_STACK=0 vllm serve {facts.model}"
    if kind == "cuda":
        return f"vllm serve {facts.model} --profiler-config.profiler cuda"
    return (
        f"vllm serve {facts.model} --profiler-config.profiler torch "
        f"--profiler-config.torch_profiler_dir {shlex.quote(facts.folder)} "
        "--profiler-config.torch_profiler_with_stack false --profiler-config.ignore_frontend true "
        f"--profiler-config.max_iterations {facts.steps}"
    )


def _window(facts: Facts) -> tuple[str, ...]:
    address = shlex.quote(facts.address)
    body = shlex.quote(f'{{"max_iterations": {facts.steps}}}')
    return (
        f"curl -X POST {address}/start_profile -H 'Content-Type: application/json' -d {body}",
        f"sleep {facts.seconds:g}",
        f"curl -X POST {address}/stop_profile",
    )


def _torch(facts: Facts) -> Capture:
    started = facts.profiler == "torch"
    commands = _window(facts) if started else (start_arguments(facts), *_window(facts))
    return Capture(
        "torch",
        Text("kernels, launches and steps of every worker", "每个 worker 的内核、启动与步骤"),
        Text(
            "steps are some 10% slower while it runs; writing stalls the server for seconds to minutes",
            "采集期间每步约慢 10%；写文件时服务器会停顿数秒到数分钟",
        ),
        commands,
        f"whystall trace {shlex.quote(facts.folder)}/*.pt.trace.json.gz",
        stalls=True,
        restart=not started,
        notes=(_STACKS, _COMPLETE),
    )


def _nsys(facts: Facts) -> Capture:
    start = (
        "VLLM_WORKER_MULTIPROC_METHOD=spawn nsys profile --trace-fork-before-exec=true --cuda-graph-trace=node "
        f"--capture-range=cudaProfilerApi --capture-range-end repeat -o report {start_arguments(facts, 'cuda')}"
    )
    return Capture(
        "nsys",
        Text("kernels of all processes, NVTX steps, host threads", "所有进程的内核、NVTX 步骤、主机线程"),
        Text("the server runs under nsys from its start on", "服务器从启动起一直在 nsys 之下运行"),
        (start, *_window(facts), "nsys export --type sqlite --output report.sqlite report.nsys-rep"),
        "whystall trace report.sqlite",
        stalls=True,
        restart=True,
        notes=(_DCGM,),
    )


def _ncu(facts: Facts) -> Capture:
    run = (
        "ncu --target-processes all --set full --launch-skip 2000 --launch-count 60 --csv --page raw --log-file ncu.csv "
        f"vllm bench latency --model {facts.model} --load-format dummy --enforce-eager --num-iters 1 --num-iters-warmup 1"
    )
    return Capture(
        "ncu",
        Text("how well single kernels use SMs, memory and caches", "单个内核对 SM、显存与缓存的利用"),
        Text(
            "an offline run, replayed kernel by kernel: never on a live server", "离线逐内核重放：绝不要用于线上服务器"
        ),
        (run,),
        "whystall trace ncu.csv",
        stalls=False,
        restart=False,
        notes=(_DCGM, _OFFLINE),
    )


def _py_spy(facts: Facts) -> Capture:
    pid = str(facts.engine_pid) if facts.engine_pid else "$(pgrep -f VLLM::EngineCore | head -n 1)"
    command = (
        f"py-spy record --pid {pid} --format speedscope --rate 200 --duration 15 --nonblocking -o engine.speedscope"
    )
    return Capture(
        "py-spy",
        Text("what the engine loop's Python does", "引擎循环的 Python 在做什么"),
        Text("under 1%; needs ptrace rights (root, or CAP_SYS_PTRACE in a container)", "低于 1%；需要 ptrace 权限"),
        (command,),
        "whystall trace engine.speedscope",
        stalls=False,
        restart=False,
    )


def _ray(facts: Facts) -> Capture:
    start = f"vllm serve {facts.model} --distributed-executor-backend ray --ray-workers-use-nsight"
    export = 'for f in /tmp/ray/session_latest/logs/nsight/*.nsys-rep; do nsys export --type sqlite "$f"; done'
    return Capture(
        "ray",
        Text("kernels of Ray workers on every node", "各节点 Ray worker 的内核"),
        Text("reports are written when a worker ends cleanly", "worker 正常退出时才写出报告"),
        (start, "# send load, then stop the server with SIGINT", export),
        "whystall trace /tmp/ray/session_latest/logs/nsight/*.sqlite",
        stalls=False,
        restart=True,
    )


def _spans(facts: Facts) -> Capture:
    low, high = SAMPLED
    start = (
        f"OTEL_TRACES_SAMPLER=parentbased_traceidratio OTEL_TRACES_SAMPLER_ARG={low:g} vllm serve {facts.model} "
        "--otlp-traces-endpoint http://127.0.0.1:4317"
    )
    told = sampling_note(facts.sampling)
    return Capture(
        "spans",
        Text(
            "each sampled request's time in queue, prefill and decode", "每个被采样请求在排队、prefill、decode 的时间"
        ),
        Text(
            "one span a request at its end; sample {low:.0%} to {high:.0%}",
            "每个请求结束时一个 span；采样 {low:.0%} 到 {high:.0%}",
        ).format(low=low, high=high),
        (start,),
        "whystall trace spans.jsonl",
        stalls=False,
        restart=True,
        notes=(told,) if told else (),
    )


def sampling(environment: Mapping[str, str]) -> str:
    """What a server's environment says of trace sampling: ``always``, a ratio as text, or another sampler's name."""
    sampler = environment.get("OTEL_TRACES_SAMPLER", "")
    if not sampler.endswith("traceidratio"):
        return sampler.removeprefix("parentbased_").removesuffix("_on") or "always"
    return environment.get("OTEL_TRACES_SAMPLER_ARG", "1.0")


def sampling_note(sampling: str) -> Text | None:
    """Whether 1 to 5% of requests are traced, as a sentence; None where nothing is known or all is well."""
    if not sampling or sampling.startswith("always_off"):
        return None
    try:
        ratio = float(sampling)
    except ValueError:
        ratio = 1.0 if sampling == "always" else float("nan")
    low, high = SAMPLED
    if low <= ratio <= high or ratio != ratio:
        return None
    return Text(
        "{ratio:.2%} of requests are traced; 1 to 5% are enough: OTEL_TRACES_SAMPLER=parentbased_traceidratio, "
        "OTEL_TRACES_SAMPLER_ARG=0.01.",
        "{ratio:.2%} 的请求被追踪；1% 到 5% 就够：OTEL_TRACES_SAMPLER=parentbased_traceidratio，"
        "OTEL_TRACES_SAMPLER_ARG=0.01。",
    ).format(ratio=ratio)


_BUILDERS: dict[str, Callable[[Facts], Capture]] = {
    "torch": _torch,
    "nsys": _nsys,
    "ncu": _ncu,
    "py-spy": _py_spy,
    "ray": _ray,
    "spans": _spans,
}
_STACKS = Text(
    "Leave torch_profiler_with_stack off: with it three seconds of steps gave 6.7 million events and minutes of writing.",
    "请关闭 torch_profiler_with_stack：开启时三秒的步骤产生 670 万个事件，写文件要数分钟。",
)
_COMPLETE = Text(
    "Every rank writes a file; give them all to whystall trace, or waiting and transfer cannot be told apart.",
    "每个 rank 写一个文件；请全部交给 whystall trace，否则无法区分等待与传输。",
)
_DCGM = Text(
    "DCGM's profiling counters and Nsight exclude each other: dcgmi profiling --pause before, --resume after.",
    "DCGM 的 profiling 计数器与 Nsight 互斥：之前执行 dcgmi profiling --pause，之后 --resume。",
)
_OFFLINE = Text(
    "A dummy-weight run has the same kernels and shapes; its durations are not those of a live step.",
    "dummy 权重的运行具有相同的内核与形状；其耗时不代表线上一步。",
)
