"""--data-parallel-external-lb: each rank its own server."""

from __future__ import annotations

from whystall.model.text import Text
from whystall.remedies.knob import Default, Knob, Rule, Spelling
from whystall.remedies.setup import Setup


def _one_rank(setup: Setup) -> bool | None:
    """A single rank needs no balancer."""
    if setup.on("data_parallel_external_lb") is not True:
        return False
    ranks = setup.number("data_parallel_size")
    return None if ranks is None else ranks <= 1


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
    needs=(
        Rule(
            "external_lb_needs_ranks",
            Text(
                "data_parallel_external_lb needs data_parallel_size above 1",
                "data_parallel_external_lb 需要 data_parallel_size 大于 1",
            ),
            _one_rank,
        ),
    ),
    up=Text("The balancer decides, and sees each rank's queue.", "由外部均衡器决定路由，并能看到每个 rank 的队列。"),
)
