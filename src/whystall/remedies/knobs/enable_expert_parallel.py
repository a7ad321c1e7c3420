"""--enable-expert-parallel: whole experts on each GPU."""

from __future__ import annotations

from whystall.model.text import Text
from whystall.remedies.knob import Default, Knob, Spelling

KNOB = Knob(
    id="enable_expert_parallel",
    group="parallel",
    kind="switch",
    what=Text(
        "Puts whole experts of a MoE model on each GPU in place of slices of all.",
        "MoE 模型中每块 GPU 放完整专家，而非所有专家的切片。",
    ),
    spellings=(
        Spelling("--enable-expert-parallel", since="0.8.5", off="--no-enable-expert-parallel"),
        Spelling("-ep", since="0.32.0"),
    ),
    defaults=(Default("False"),),
    up=Text(
        "All-to-all in place of all-reduce; an expert that many tokens choose holds up all ranks.",
        "以 all-to-all 代替 all-reduce；热门专家会拖慢所有 rank。",
    ),
    raising={"throughput": "either"},
)
