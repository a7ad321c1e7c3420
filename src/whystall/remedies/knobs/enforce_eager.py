"""--enforce-eager: no CUDA graphs."""

from __future__ import annotations

from whystall.model.text import Text
from whystall.remedies.knob import Default, Knob, Spelling, Treatment

KNOB = Knob(
    id="enforce_eager",
    group="compute",
    kind="switch",
    what=Text(
        "Runs without compilation and without CUDA graphs: each kernel is launched by the CPU.",
        "不编译、不使用 CUDA graph：每个内核都由 CPU 逐个启动。",
    ),
    spellings=(Spelling("--enforce-eager", off="--no-enforce-eager"),),
    defaults=(Default("False"),),
    up=Text(
        "Decoding is bound by launches: for small models ITL is often 1.2 to 3 times as long. Start-up is shorter and the "
        "graphs' memory goes to the pool.",
        "解码受内核启动限制：小模型的 ITL 常为 1.2 至 3 倍。启动更快，graph 的显存归块池。",
    ),
    raising={"itl": "worse", "throughput": "worse", "start": "better", "kv": "better"},
    treats=(Treatment("launch_bound", "off"),),
)
