"""--dtype: type of weights and activations."""

from __future__ import annotations

from whystall.model.text import Text
from whystall.remedies.knob import Choice, Default, Knob, Legal, Spelling

KNOB = Knob(
    id="dtype",
    group="compute",
    kind="choice",
    what=Text("Type of weights and activations.", "权重与激活的类型。"),
    spellings=(Spelling("--dtype"),),
    defaults=(Default("auto"),),
    legal=Legal(
        choices=(
            Choice("auto"),
            Choice("bfloat16"),
            Choice("float"),
            Choice("float16"),
            Choice("float32"),
            Choice("half"),
        )
    ),
    up=Text(
        "float32 takes twice the memory and far more time than a 16-bit type.",
        "float32 占两倍显存，且远慢于 16 位类型。",
    ),
    raising={"kv": "either", "itl": "either", "throughput": "either"},
)
