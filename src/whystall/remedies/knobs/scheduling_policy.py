"""--scheduling-policy: who is first in the queue."""

from __future__ import annotations

from whystall.model.text import Text
from whystall.remedies.knob import Choice, Default, Knob, Legal, Spelling, Treatment

KNOB = Knob(
    id="scheduling_policy",
    group="scheduler",
    kind="choice",
    what=Text(
        "Order of the queue: arrival, or the request's field priority (lower first).",
        "队列顺序：按到达，或按请求的 priority 字段（小者优先）。",
    ),
    spellings=(Spelling("--scheduling-policy", since="0.6.0"),),
    defaults=(Default("fcfs"),),
    legal=Legal(choices=(Choice("fcfs"), Choice("priority"))),
    up=Text(
        "priority lets clients put urgent requests in front; it does not push out running ones to let them in, and "
        "unimportant requests may starve.",
        "priority 让客户端把紧急请求排到前面；它不会为此挤出运行中的请求，不重要的请求可能饿死。",
    ),
    raising={"ttft": "either"},
    treats=(Treatment("head_of_line_prompt", "set"),),
)
