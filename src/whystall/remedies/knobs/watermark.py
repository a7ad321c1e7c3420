"""--watermark: blocks kept free at admission."""

from __future__ import annotations

from whystall.model.text import Text
from whystall.remedies.knob import Default, Knob, Legal, Spelling, Treatment

KNOB = Knob(
    id="watermark",
    group="scheduler",
    kind="number",
    what=Text("Share of the KV blocks that admission leaves free.", "准入时保留的空闲 KV 块比例。"),
    spellings=(Spelling("--watermark", since="0.24.0"),),
    defaults=(Default("0.0"),),
    legal=Legal(low=0, high=1, high_open=True),
    up=Text(
        "Running sequences have room to grow: fewer preemptions, fewer sequences at once.",
        "运行中的序列有增长余地：抢占更少，并发也更低。",
    ),
    raising={"throughput": "either", "ttft": "worse", "itl": "better"},
    treats=(Treatment("kv_capacity", "raise"),),
)
