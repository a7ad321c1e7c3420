"""Two published incidents, as far as a V1 engine can show them, and what their write-ups say of them."""

from __future__ import annotations

import msgspec

from whystall.emulator.engine.options import EngineOptions
from whystall.emulator.engine.workload import LengthClass
from whystall.emulator.profiles import load_profile
from whystall.emulator.server.deployment import Deployment, Serving
from whystall.emulator.server.faults import Fault, Planned
from whystall.emulator.server.faults.mechanism import add, profiles, traffic
from whystall.emulator.server.traffic import TrafficPlan
from whystall.model.text import Text

from .experiment import Expectation, Experiment, Kind

# What all-reduces take of a step once the link is slow: the write-up's profile says 35%.
SHARE = 0.35
# KV tokens that a 7B model without grouped heads (0.5 MiB a token, 12.6 GiB of weights) finds room for.
POOL_TOKENS = {"a100-40gb": 43_000, "a100-80gb": 118_000}
_AT_S, _SECONDS = 60.0, 180.0


def incidents() -> list[Experiment]:
    """The two incidents."""
    return [long_prompts(), slow_all_reduce()]


def long_prompts(budget: int = 10_000, gpu: str = "a100-40gb") -> Experiment:
    """2026-01: the share of long prompts goes from 10% to 50%. ``gpu`` is one of ``POOL_TOKENS``."""
    blocks = POOL_TOKENS[gpu] // 16
    return Experiment(
        id="incident-long-prompts",
        title=Text("2026-01: long prompts from 10% to 50%", "2026-01：长提示由 10% 增至 50%"),
        do=Text(
            "A 7B model on 40 GB (43,000 KV tokens), 52 clients; after 60 s half of the prompts are long, not a tenth. "
            "Published: throughput -50%, latency 200 ms to over 1 s, cured by --max-num-batched-tokens 5000.",
            "40 GB 上的 7B 模型（43,000 个 KV token），52 个客户端；60 秒后长提示由一成变为一半。"
            "文章称：吞吐下降 50%，延迟由 200 毫秒升至 1 秒以上，改 --max-num-batched-tokens 5000 即可。",
        ),
        serving=Serving(
            options=EngineOptions(
                num_gpu_blocks=blocks,
                max_num_batched_tokens=budget,
                max_model_len=4096,
                async_scheduling=True,
            ),
            profile=load_profile(f"{gpu}-8b"),
            traffic=TrafficPlan(mix=_prompts(0.1), clients=52),
            flags={"max_num_batched_tokens": budget, "max_model_len": 4096},
        ),
        planned=(Planned(Fault("longer_prompts", "half of the prompts are long", _half_long), _AT_S),),
        cause="kv_capacity",
        expectations=(
            _scheduler("throughput", "falls", 1.6, "long prompts take the pool and the steps", "长提示占满池与步"),
            _scheduler("ttft", "above", 1.0, "requests wait until they fit whole", "请求须整体放得下才被接纳"),
            _scheduler("kv_usage", "above", 0.9, "the pool is full", "池已满"),
            _scheduler("preemptions", "above", 0.1, "decodes take blocks from others", "解码抢占他人的块"),
            _article("rejections", "above", 0.0, "vLLM queues, it does not reject", "vLLM 排队而不拒绝"),
            _article("gpu_util", "below", 0.3, "recompute keeps kernels running", "重算使内核持续运行"),
        ),
        at_s=_AT_S,
        seconds=_SECONDS,
    )


def slow_all_reduce(budget: int = 4_096, seats: int = 128, slow: bool = True) -> Experiment:
    """A 70B model at tensor-parallel 4 whose all-reduces come to take 35% of a step; ``slow`` False: they do not."""
    profile = load_profile("h100-70b-tp4-nvlink")
    return Experiment(
        id="incident-tensor-parallel",
        title=Text("70B at tensor-parallel 4: TTFT 0.3 to 1.2 s", "张量并行 4 的 70B：TTFT 由 0.3 升至 1.2 秒"),
        do=Text(
            "2.5 requests a second of 2,000 and 800 tokens on 128 seats; after 60 s all-reduces take 35% of a step. "
            "Published: queue 20 to 600 ms, TTFT 0.3 to 1.2 s, cured by 64 seats and a budget of 8,192 tokens.",
            "每秒 2.5 个请求（提示 2,000、输出 800 token），128 个席位；60 秒后 all-reduce 占每步的 35%。"
            "文章称：排队由 20 升至 600 毫秒，TTFT 由 0.3 升至 1.2 秒，改为 64 席位与 8,192 token 预算即可。",
        ),
        serving=Serving(
            options=EngineOptions(
                num_gpu_blocks=profile.kv_blocks,
                max_num_seqs=seats,
                max_num_batched_tokens=budget,
                max_model_len=8192,
                async_scheduling=True,
            ),
            profile=profile,
            traffic=TrafficPlan(mix=(LengthClass(1.0, (1500, 2500), (600, 1000)),), rate=2.47),
            flags={"max_num_seqs": seats, "max_num_batched_tokens": budget, "tensor_parallel_size": 4},
        ),
        planned=(Planned(Fault("comm_bound", "all-reduces over a slow link", _slow_link), _AT_S),) if slow else (),
        cause="seat_cap" if slow else "",
        expectations=(
            _scheduler("itl", "rises", 1.5, "every step waits for the link", "每步都等待链路"),
            _scheduler("ttft", "rises", 2.0, "slower requests keep their seats for longer", "请求变慢，占席更久"),
            _scheduler("waiting", "above", 0.5, "until all seats are taken, and the next ones queue", "席位占满后排队"),
            _scheduler("kv_usage", "below", 0.6, "memory is not what binds", "瓶颈不在显存"),
        ),
        at_s=_AT_S,
        seconds=_SECONDS,
    )


def _scheduler(figure: str, kind: Kind, level: float, en: str, zh: str) -> Expectation:
    return Expectation(figure, kind, level, "scheduler", Text(en, zh))


def _article(figure: str, kind: Kind, level: float, en: str, zh: str) -> Expectation:
    return Expectation(figure, kind, level, "article", Text(en, zh))


def _prompts(long: float) -> tuple[LengthClass, ...]:
    return (LengthClass(1 - long, (200, 400), (100, 200)), LengthClass(long, (1500, 2500), (200, 400)))


def _half_long(deployment: Deployment, _t: float, severity: float) -> None:
    traffic(deployment, lambda plan: msgspec.structs.replace(plan, mix=_prompts(min(0.5 * severity, 1.0))))


def _slow_link(deployment: Deployment, _t: float, severity: float) -> None:
    """The link's part of a step grows until it is ``SHARE`` of it, for steps that decode and for those with prefill."""
    profile = deployment.replicas[0].engine.clock.profile
    beside = severity * SHARE / (1 - SHARE)
    more = {"link_s": beside * profile.floor_s, "link_token_s": beside * profile.token_s}
    profiles(deployment, add(**{name: max(by - getattr(profile, name), 0.0) for name, by in more.items()}))
