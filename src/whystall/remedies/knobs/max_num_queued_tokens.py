"""--max-num-queued-tokens: refuse beyond so many prompt tokens."""

from __future__ import annotations

from whystall.model.text import Text
from whystall.remedies.knob import Default, Knob, Legal, Spelling, Treatment

KNOB = Knob(
    id="max_num_queued_tokens",
    group="scheduler",
    kind="whole",
    what=Text(
        "Answers 503 when the requests in the engine hold more prompt tokens than this.",
        "引擎内请求的提示 token 总数超过该值时返回 503。",
    ),
    spellings=(Spelling("--max-num-queued-tokens", since="0.29.0"),),
    defaults=(Default("None"),),
    legal=Legal(low=1),
    up=Text("Fewer requests are refused; those that are let in wait longer.", "拒绝更少；放进来的请求等待更久。"),
    down=Text("Protects TTFT by shedding load, long prompts first.", "通过削减负载保护 TTFT，长提示首当其冲。"),
    raising={"ttft": "worse", "throughput": "better"},
    treats=(Treatment("queue_limit", "raise"), Treatment("overload", "lower")),
)
