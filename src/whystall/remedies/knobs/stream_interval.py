"""--stream-interval: tokens a streamed piece."""

from __future__ import annotations

from whystall.model.text import Text
from whystall.remedies.knob import Default, Knob, Legal, Spelling, Treatment

KNOB = Knob(
    id="stream_interval",
    group="scheduler",
    kind="whole",
    what=Text(
        "Sends the first token, then a piece for every so many.",
        "先发送首个 token，之后每若干个 token 发送一次。",
    ),
    spellings=(Spelling("--stream-interval", since="0.11.2"),),
    defaults=(Default("1"),),
    legal=Legal(low=1),
    up=Text(
        "Less work for the API process; clients see pieces, and ITL is then measured for a piece.",
        "API 进程的工作更少；客户端按片段看到输出，ITL 也按片段计量。",
    ),
    raising={"cpu": "better", "itl": "worse", "throughput": "better"},
    treats=(Treatment("frontend_cpu", "raise"), Treatment("cpu_starved", "raise")),
)
