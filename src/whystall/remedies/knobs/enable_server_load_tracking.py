"""--enable-server-load-tracking: the load at /load."""

from __future__ import annotations

from whystall.model.text import Text
from whystall.remedies.knob import Default, Knob, Spelling

KNOB = Knob(
    id="enable_server_load_tracking",
    group="observability",
    kind="switch",
    what=Text(
        "Counts the requests in the API server and answers at /load.", "统计 API 服务器中的请求数并在 /load 提供。"
    ),
    spellings=(Spelling("--enable-server-load-tracking", since="0.8.5", off="--no-enable-server-load-tracking"),),
    defaults=(Default("False"),),
    up=Text("Costs next to nothing.", "几乎没有代价。"),
)
