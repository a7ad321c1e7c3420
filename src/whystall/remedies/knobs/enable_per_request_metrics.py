"""--enable-per-request-metrics: times in the answer."""

from __future__ import annotations

from whystall.model.text import Text
from whystall.remedies.knob import Default, Knob, Spelling

KNOB = Knob(
    id="enable_per_request_metrics",
    group="observability",
    kind="switch",
    what=Text(
        "Adds the request's own queue, prefill and decode times to the answer.",
        "在响应中附上该请求的排队、预填充与解码时间。",
    ),
    spellings=(Spelling("--enable-per-request-metrics", since="0.32.0", off="--no-enable-per-request-metrics"),),
    defaults=(Default("False"),),
    up=Text("Clients see where their time went.", "客户端可看到时间花在哪里。"),
)
