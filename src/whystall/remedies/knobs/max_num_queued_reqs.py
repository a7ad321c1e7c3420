"""--max-num-queued-reqs: refuse beyond so many requests."""

from __future__ import annotations

from whystall.model.text import Text
from whystall.remedies.knob import Default, Knob, Legal, Spelling, Treatment

KNOB = Knob(
    id="max_num_queued_reqs",
    group="scheduler",
    kind="whole",
    what=Text(
        "Answers 503 above so many requests in the engine, waiting and running ones over all DP ranks together.",
        "引擎内请求（等待与运行合计，跨所有 DP rank）超过该数时返回 503。",
    ),
    spellings=(Spelling("--max-num-queued-reqs", since="0.29.0"),),
    defaults=(Default("None"),),
    legal=Legal(low=1),
    up=Text(
        "Fewer requests are refused; those that are let in wait longer. Running requests count too, so a limit under "
        "max_num_seqs leaves seats empty.",
        "拒绝更少；放进来的请求等待更久。运行中的请求也计入，因此低于 max_num_seqs 的上限会让席位空着。",
    ),
    down=Text("Protects TTFT by shedding load.", "通过削减负载保护 TTFT。"),
    raising={"ttft": "worse", "throughput": "better"},
    treats=(
        Treatment("queue_limit", "raise"),
        Treatment("overload", "lower"),
        Treatment("kv_capacity", "lower"),
        Treatment("burst", "raise"),
    ),
)
