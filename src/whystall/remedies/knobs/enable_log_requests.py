"""--enable-log-requests: every request in the log."""

from __future__ import annotations

from whystall.model.text import Text
from whystall.remedies.knob import Default, Knob, Spelling, Treatment

KNOB = Knob(
    id="enable_log_requests",
    group="observability",
    kind="switch",
    what=Text("Writes each request, its prompt included, into the log.", "把每个请求（含提示）写入日志。"),
    spellings=(Spelling("--enable-log-requests", since="0.10.0", off="--no-enable-log-requests"),),
    defaults=(Default("False", since="0.10.0"),),
    up=Text(
        "Costs CPU of the API process, and puts what users wrote into the log.",
        "占用 API 进程 CPU，并把用户内容写入日志。",
    ),
    raising={"cpu": "worse"},
    treats=(Treatment("frontend_cpu", "off"), Treatment("observability_overhead", "off")),
)
