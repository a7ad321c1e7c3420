"""--disable-log-requests: gone, it is the default now."""

from __future__ import annotations

from whystall.model.text import Text
from whystall.remedies.knob import Knob, Spelling

KNOB = Knob(
    id="disable_log_requests",
    group="removed",
    kind="switch",
    what=Text(
        "Kept requests out of the log; today they are not written unless --enable-log-requests asks.",
        "不把请求写入日志；如今默认就不写，除非用 --enable-log-requests。",
    ),
    spellings=(Spelling("--disable-log-requests", until="0.16.0"),),
    up=Text("Nothing where requests are not logged by default.", "在默认不记录请求的版本中没有作用。"),
)
