"""--enable-logging-iteration-details: a log line a step."""

from __future__ import annotations

from whystall.model.text import Text
from whystall.remedies.knob import Default, Knob, Spelling, Treatment

KNOB = Knob(
    id="enable_logging_iteration_details",
    group="observability",
    kind="switch",
    what=Text(
        "A line of the log for every step: requests, tokens, time, KV usage.",
        "每步一行日志：请求、token、耗时、KV 使用率。",
    ),
    spellings=(
        Spelling("--enable-logging-iteration-details", since="0.14.1", off="--no-enable-logging-iteration-details"),
    ),
    defaults=(Default("False"),),
    up=Text(
        "Settles many look-alikes; a hundred lines a second cost CPU of the engine's thread.",
        "能区分许多相似原因；每秒上百行会占用引擎线程的 CPU。",
    ),
    raising={"cpu": "worse", "itl": "worse"},
    treats=(Treatment("observability_overhead", "off"),),
)
