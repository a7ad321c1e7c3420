"""--enable-eplb: experts moved to where they are needed."""

from __future__ import annotations

from whystall.model.text import Text
from whystall.remedies.knob import Default, Knob, Spelling, Treatment

KNOB = Knob(
    id="enable_eplb",
    group="parallel",
    kind="switch",
    what=Text(
        "Copies and moves experts so that ranks get the same work; needs expert parallelism.",
        "复制并迁移专家，使各 rank 负载均衡；需要专家并行。",
    ),
    spellings=(Spelling("--enable-eplb", since="0.10.0", off="--no-enable-eplb"),),
    defaults=(Default("False"),),
    up=Text(
        "Less waiting for the rank with the popular experts; moving experts costs memory and pauses.",
        "减少等待热门专家所在 rank；迁移专家消耗显存并带来停顿。",
    ),
    raising={"throughput": "better", "memory": "worse"},
    treats=(Treatment("moe_imbalance", "on"),),
)
