"""--async-scheduling: schedule the next step while this one runs."""

from __future__ import annotations

import re

from whystall.model.text import Text
from whystall.remedies.knob import Default, Folk, Knob, Rule, Spelling, Treatment
from whystall.remedies.setup import Setup


def _not_with_ray(setup: Setup) -> bool | None:
    """Asked for by flag it needs an executor in our own processes."""
    asked = setup.is_set("async_scheduling") is True and setup.on("async_scheduling")
    return bool(asked) and setup.text("distributed_executor_backend") == "ray"


_METHOD = re.compile(r"""["']?method["']?\s{0,9}[:=]\s{0,9}["'](\w{1,40})["']""")
# Methods of speculative decoding that draft on the CPU or need the tokens of the step before.
_NEEDS_TOKENS = ("ngram", "medusa", "mlp_speculator", "suffix", "custom_class")


def _not_with_method(setup: Setup) -> bool | None:
    """Asked for by flag it ends the start beside a method that needs the last step's tokens."""
    asked = setup.is_set("async_scheduling") is True and setup.on("async_scheduling")
    if not asked or not (setup.is_set("speculative_config") or setup.is_set("spec_method")):
        return False
    if setup.version < (0, 14):
        return True
    told = _METHOD.search(setup.text("speculative_config") or "")
    return (setup.text("spec_method") or (told[1] if told else "")) in _NEEDS_TOKENS


KNOB = Knob(
    id="async_scheduling",
    group="scheduler",
    kind="switch",
    what=Text(
        "Schedules step N+1 before the tokens of step N are known, so that the GPU need not wait for the scheduler.",
        "在第 N 步的 token 未知时就调度第 N+1 步，使 GPU 不必等待调度器。",
    ),
    spellings=(Spelling("--async-scheduling", since="0.10.0", off="--no-async-scheduling"),),
    defaults=(Default("on where compatible", since="0.14.0"), Default("False", until="0.13.0")),
    needs=(
        Rule(
            "async_executor",
            Text(
                "async scheduling asked for by flag does not start on the ray executor",
                "显式开启的异步调度无法在 ray 执行器上启动",
            ),
            _not_with_ray,
        ),
        Rule(
            "async_method",
            Text(
                "async scheduling asked for by flag does not start with this method of speculative decoding",
                "显式开启的异步调度无法与该投机解码方法一起启动",
            ),
            _not_with_method,
        ),
    ),
    up=Text(
        "Hides the scheduler's CPU time: a better ITL, most for small models and high tensor parallelism.",
        "隐藏调度器的 CPU 时间：ITL 更好，对小模型与高张量并行最明显。",
    ),
    raising={"itl": "better", "throughput": "better"},
    treats=(Treatment("engine_loop_cpu", "on"),),
    folk=(
        Folk(
            ("engine_loop_cpu",),
            Text("give the scheduler more threads", "给调度器增加线程"),
            Text(
                "EngineCore is one thread and there is no such flag; more engines (data parallel) are what scales it",
                "EngineCore 是单线程，没有这样的参数；要扩展只能增加引擎（数据并行）",
            ),
        ),
    ),
)
