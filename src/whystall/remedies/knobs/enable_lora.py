"""--enable-lora: adapters beside the model."""

from __future__ import annotations

from whystall.model.text import Text
from whystall.remedies.knob import Default, Knob, Spelling

KNOB = Knob(
    id="enable_lora",
    group="features",
    kind="switch",
    what=Text("Serves LoRA adapters beside the model.", "在模型之外提供 LoRA 适配器服务。"),
    spellings=(Spelling("--enable-lora", off="--no-enable-lora"),),
    defaults=(Default("False"),),
    up=Text(
        "Takes memory for max_loras adapters and some time in each step.", "为 max_loras 个适配器占用显存，并略增步时。"
    ),
    raising={"kv": "worse", "itl": "worse"},
)
