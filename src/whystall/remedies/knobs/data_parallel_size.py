"""--data-parallel-size: engines beside each other."""

from __future__ import annotations

from whystall.model.text import Text
from whystall.remedies.knob import Default, Knob, Legal, Spelling, Treatment

KNOB = Knob(
    id="data_parallel_size",
    group="parallel",
    kind="whole",
    what=Text(
        "Engines with the whole model each; an API process for each by default.",
        "各自拥有完整模型的引擎数；默认每个引擎一个 API 进程。",
    ),
    spellings=(Spelling("--data-parallel-size", since="0.9.1"), Spelling("-dp", since="0.9.1")),
    defaults=(Default("1"),),
    legal=Legal(low=1),
    up=Text(
        "Capacity grows with the engines; metrics get a label. Replicas behind a balancer do the same for dense models.",
        "容量随引擎数增长；指标按引擎带标签。稠密模型用负载均衡后的独立副本效果相同。",
    ),
    raising={"throughput": "better", "ttft": "better", "kv": "better"},
    treats=(Treatment("overload", "raise"), Treatment("kv_capacity", "raise"), Treatment("prefill_bound", "raise")),
)
