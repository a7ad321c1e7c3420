"""--enable-eplb: experts moved to where they are needed."""

from __future__ import annotations

from whystall.model.text import Text
from whystall.remedies.knob import Default, Knob, Rule, Spelling, Treatment
from whystall.remedies.setup import Setup


def _without_experts(setup: Setup) -> bool | None:
    """It moves whole experts, so there must be some."""
    return setup.on("enable_eplb") is True and setup.on("enable_expert_parallel") is False


def _alone(setup: Setup) -> bool | None:
    """On one rank there is nothing to balance."""
    sizes = [setup.number(name) for name in ("tensor_parallel_size", "data_parallel_size")]
    if setup.on("enable_eplb") is not True or None in sizes:
        return False
    return all(size == 1 for size in sizes)


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
    needs=(
        Rule(
            "eplb_needs_experts",
            Text("enable_eplb needs enable_expert_parallel", "enable_eplb 需要 enable_expert_parallel"),
            _without_experts,
        ),
        Rule(
            "eplb_needs_ranks",
            Text("enable_eplb needs tensor or data parallelism", "enable_eplb 需要张量或数据并行"),
            _alone,
        ),
    ),
    up=Text(
        "Less waiting for the rank with the popular experts; moving experts costs memory and pauses.",
        "减少等待热门专家所在 rank；迁移专家消耗显存并带来停顿。",
    ),
    raising={"throughput": "better", "memory": "worse"},
    treats=(Treatment("moe_imbalance", "on"),),
)
