"""The experiments: the three classic ones, what articles claim of them, and one for each fault of the emulator."""

from __future__ import annotations

import difflib
from typing import Any

from whystall.emulator.engine.options import EngineOptions
from whystall.emulator.engine.workload import LengthClass
from whystall.emulator.profiles import load_profile
from whystall.emulator.server.deployment import Serving
from whystall.emulator.server.faults import FAULTS, parse_fault
from whystall.emulator.server.faults.scene import healthy_serving
from whystall.emulator.server.traffic import TrafficPlan
from whystall.errors import UsageError
from whystall.model.text import Text

from .experiment import By, Expectation, Experiment, Kind
from .incidents import incidents


def experiments() -> list[Experiment]:
    """All experiments: the classics first."""
    return [
        kv_overflow(),
        scheduling_delay(),
        low_gpu_use(),
        *_articles(),
        *incidents(),
        *(_of_fault(fault) for fault in FAULTS),
    ]


def find_experiment(name: str) -> Experiment:
    """The experiment called ``name``. Raises UsageError where there is none."""
    for experiment in experiments():
        if experiment.id == name:
            return experiment
    near = difflib.get_close_matches(name, [one.id for one in experiments()], n=1)
    meant = f"Did you mean {near[0]}? " if near else ""
    raise UsageError(f"there is no experiment {name!r}", f"{meant}whystall lab list shows them.")


def _expect(figure: str, kind: Kind, level: float, by: By, en: str, zh: str) -> Expectation:
    return Expectation(figure, kind, level, by, Text(en, zh))


def _serving(profile: str, plan: TrafficPlan, flags: dict[str, object] | None = None, **options: Any) -> Serving:
    chosen = load_profile(profile)
    values: dict[str, Any] = {"max_num_seqs": 1024, "async_scheduling": True, **options}
    values.setdefault("num_gpu_blocks", min(chosen.kv_blocks, 20000))
    return Serving(options=EngineOptions(**values), profile=chosen, traffic=plan, flags=flags or dict(options))


def _chat(rate: float, prompt: int = 500, output: int = 200, shared: int = 0) -> TrafficPlan:
    return TrafficPlan(mix=(LengthClass(1.0, (prompt, prompt), (output, output), shared_prefix=shared),), rate=rate)


# -- the classics


def kv_overflow() -> Experiment:
    """Long requests against a small pool."""
    return Experiment(
        id="kv-overflow",
        title=Text("KV-cache overflow", "KV 缓存溢出"),
        do=Text(
            "A pool of 2,000 blocks (32,000 tokens); after 30 s six times as many clients.",
            "KV 池仅 2,000 块（32,000 token）；30 秒后客户端增至六倍。",
        ),
        serving=_serving("h200-8b", _chat(8, 1000, 400), num_gpu_blocks=2000),
        planned=(parse_fault("kv_capacity@30"),),
        cause="kv_capacity",
        expectations=(
            _expect("kv_usage", "above", 0.9, "scheduler", "the pool is full", "池已满"),
            _expect("preemptions", "above", 0.1, "scheduler", "decodes take blocks from others", "解码抢占他人的块"),
            _expect("ttft", "rises", 5, "scheduler", "prompts wait until they fit whole", "提示须整体放得下才被接纳"),
            _expect("rejections", "above", 0.0, "article", "vLLM queues, it does not reject", "vLLM 排队而不拒绝"),
            _expect("gpu_util", "below", 0.3, "article", "recompute keeps kernels running", "重算使内核持续运行"),
        ),
    )


def scheduling_delay() -> Experiment:
    """More clients than seats."""
    return Experiment(
        id="scheduling-delay",
        title=Text("Scheduling delay", "调度延迟"),
        do=Text(
            "Few seats (--max-num-seqs); after 30 s six times as many clients.", "席位很少；30 秒后客户端增至六倍。"
        ),
        serving=_serving("h200-8b", _chat(8, 250, 250)),
        planned=(parse_fault("seat_cap@30"),),
        cause="seat_cap",
        expectations=(
            _expect("queue", "above", 0.2, "scheduler", "requests wait for a seat", "请求等待席位"),
            _expect("waiting", "above", 5, "scheduler", "the queue is as long as clients are too many", "队列随之变长"),
            _expect("kv_usage", "below", 0.5, "scheduler", "the pool is not what binds", "瓶颈不在 KV 池"),
            _expect(
                "itl", "rises", 2, "article", "seats bound the batch, so a step stays short", "席位限制批次，单步仍短"
            ),
        ),
    )


def low_gpu_use() -> Experiment:
    """Steps that wait for the host."""
    return Experiment(
        id="low-gpu-use",
        title=Text("Low GPU use", "GPU 利用率低"),
        do=Text("After 30 s the engine's own thread takes 20 ms a step.", "30 秒后引擎线程每步耗时 20 毫秒。"),
        serving=_serving("h200-8b", _chat(10)),
        planned=(parse_fault("engine_loop_cpu@30"),),
        cause="engine_loop_cpu",
        expectations=(
            _expect("gpu_util", "falls", 1.5, "scheduler", "kernels wait for the host", "内核等待主机"),
            _expect("itl", "rises", 2, "scheduler", "a step lasts as long as the host takes", "单步时长取决于主机"),
            _expect("kv_usage", "below", 0.5, "scheduler", "memory is not what binds", "瓶颈不在显存"),
        ),
    )


# -- what articles say


def _articles() -> list[Experiment]:
    return [_small_budget(), _hundred_seats(), _tensor_parallel()]


def _small_budget() -> Experiment:
    return Experiment(
        id="article-small-budget",
        title=Text("A 5,000-token budget under 2,000-token prompts", "2,000 token 提示下的 5,000 token 预算"),
        do=Text(
            "--max-num-batched-tokens 5000, said to make the KV cache overflow.",
            "--max-num-batched-tokens 5000，据称会导致 KV 缓存溢出。",
        ),
        serving=_serving("h200-8b", _chat(6, 2000, 200), max_num_batched_tokens=5000),
        planned=(),
        cause="",
        expectations=(
            _expect("kv_usage", "above", 0.9, "article", "a budget is per step, not resident", "预算按步计，不占驻留"),
            _expect("preemptions", "above", 0.0, "article", "nothing is short of blocks", "并不缺块"),
            _expect("queue", "below", 0.2, "scheduler", "the load is far from the budget", "负载远低于预算"),
        ),
    )


def _hundred_seats() -> Experiment:
    return Experiment(
        id="article-hundred-seats",
        title=Text("100 seats under 100-token prompts", "100 token 提示下的 100 个席位"),
        do=Text(
            "--max-num-seqs 100 with short prompts, said to leave the GPU under half used.",
            "--max-num-seqs 100 加短提示，据称 GPU 利用率不足一半。",
        ),
        serving=_serving("h200-8b", _chat(40, 100, 200), max_num_seqs=100),
        planned=(),
        cause="",
        expectations=(
            _expect(
                "gpu_util", "below", 0.5, "article", "a batch of any size keeps it at work", "任何批次都使 GPU 工作"
            ),
            _expect("running", "below", 98, "scheduler", "the seats do not even bind", "席位并未构成限制"),
        ),
    )


def _tensor_parallel() -> Experiment:
    return Experiment(
        id="article-tensor-parallel",
        title=Text("A 70B model at tensor-parallel 4", "张量并行 4 的 70B 模型"),
        do=Text(
            "After 30 s all-reduces are slow; said: queue 20 to 600 ms, TTFT 0.3 to 1.2 s, cured by a larger budget.",
            "30 秒后 all-reduce 变慢；据称排队 20→600 毫秒、TTFT 0.3→1.2 秒，增大预算即可。",
        ),
        serving=_serving("h100-70b-tp4-nvlink", _chat(5, 800, 150)),
        planned=(parse_fault("comm_bound@30*3"),),
        cause="comm_bound",
        expectations=(
            _expect("itl", "rises", 1.3, "scheduler", "every step waits for the link", "每步都等待链路"),
            _expect("ttft", "rises", 1.3, "scheduler", "prefill moves more bytes than decode", "预填充传输更多字节"),
            _expect(
                "queue", "above", 0.5, "article", "with seats and blocks free nobody queues", "席位与块充足则不排队"
            ),
        ),
    )


# -- one for each fault


def _of_fault(name: str) -> Experiment:
    fault = FAULTS[name]
    at_start = name in ("weight_loading", "warm_up", "startup_failure", "launch_bound")
    return Experiment(
        id=name,
        title=Text(name.replace("_", " ")),
        do=Text(f"{fault.mechanism}{'' if at_start else ', from 30 s on'}."),
        serving=healthy_serving(name),
        planned=(parse_fault(name if at_start else f"{name}@30"),),
        cause="" if name == "low_demand" else name,
    )
