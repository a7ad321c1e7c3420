"""--max-lora-rank: the largest rank of an adapter."""

from __future__ import annotations

from whystall.model.text import Text
from whystall.remedies.knob import Choice, Default, Knob, Legal, Spelling

KNOB = Knob(
    id="max_lora_rank",
    group="features",
    kind="choice",
    what=Text("Largest rank of an adapter; all slots are that large.", "适配器的最大秩；所有槽位都按此大小分配。"),
    spellings=(Spelling("--max-lora-rank"),),
    defaults=(Default("16"),),
    legal=Legal(
        choices=(
            Choice("1", since="0.32.0"),
            Choice("8"),
            Choice("16"),
            Choice("32"),
            Choice("64"),
            Choice("128"),
            Choice("256"),
            Choice("320"),
            Choice("512"),
        )
    ),
    up=Text("Takes larger adapters and more memory a slot.", "可用更大的适配器，但每个槽位占用更多显存。"),
    raising={"kv": "worse"},
)
