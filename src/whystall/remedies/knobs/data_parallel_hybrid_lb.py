"""--data-parallel-hybrid-lb: a balancer between hosts."""

from __future__ import annotations

from whystall.model.text import Text
from whystall.remedies.knob import Default, Knob, Spelling

KNOB = Knob(
    id="data_parallel_hybrid_lb",
    group="parallel",
    kind="switch",
    what=Text(
        "A balancer outside between hosts, vLLM's own inside each.", "主机之间用外部均衡，主机内部用 vLLM 自带均衡。"
    ),
    spellings=(
        Spelling("--data-parallel-hybrid-lb", since="0.10.0", off="--no-data-parallel-hybrid-lb"),
        Spelling("-dph", since="0.32.0"),
    ),
    defaults=(Default("False"),),
    up=Text("One API server a host no longer serves all ranks.", "不再由单台主机的 API 服务器承担所有 rank。"),
    raising={"cpu": "better"},
)
