"""--data-parallel-external-lb: each rank its own server."""

from __future__ import annotations

from whystall.model.text import Text
from whystall.remedies.knob import Default, Knob, Spelling

KNOB = Knob(
    id="data_parallel_external_lb",
    group="parallel",
    kind="switch",
    what=Text(
        "Each rank is a server of its own behind a balancer; for MoE models only.",
        "每个 rank 是负载均衡后的独立服务器；仅用于 MoE 模型。",
    ),
    spellings=(
        Spelling("--data-parallel-external-lb", since="0.10.0", off="--no-data-parallel-external-lb"),
        Spelling("-dpe", since="0.32.0"),
    ),
    defaults=(Default("False"),),
    up=Text("The balancer decides, and sees each rank's queue.", "由外部均衡器决定路由，并能看到每个 rank 的队列。"),
)
