"""--prefill-schedule-interval: prefills of DP ranks together."""

from __future__ import annotations

from whystall.model.text import Text
from whystall.remedies.knob import Default, Knob, Legal, Spelling, Treatment

KNOB = Knob(
    id="prefill_schedule_interval",
    group="scheduler",
    kind="whole",
    what=Text(
        "For MoE with data parallelism: lets prompts in only every so many steps.",
        "用于数据并行的 MoE：每隔若干步才放入提示。",
    ),
    spellings=(Spelling("--prefill-schedule-interval", since="0.24.0"),),
    defaults=(Default("1"),),
    legal=Legal(low=1),
    up=Text(
        "Ranks compute prompts in the same steps and wait less for each other; TTFT is a little worse.",
        "各 rank 在相同步计算提示，彼此等待更少；TTFT 略差。",
    ),
    raising={"itl": "better", "ttft": "worse"},
    treats=(Treatment("dp_lockstep", "raise"),),
)
