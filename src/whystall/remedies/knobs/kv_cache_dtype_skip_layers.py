"""--kv-cache-dtype-skip-layers: layers that keep 16 bits."""

from __future__ import annotations

from whystall.model.text import Text
from whystall.remedies.knob import Default, Knob, Spelling

KNOB = Knob(
    id="kv_cache_dtype_skip_layers",
    group="kv",
    kind="text",
    what=Text(
        "Layers whose KV cache keeps the model's type under a quantized cache.", "量化 KV 缓存时仍保持模型类型的层。"
    ),
    spellings=(Spelling("--kv-cache-dtype-skip-layers", since="0.32.0"),),
    defaults=(Default("[]"),),
    up=Text("Keeps the accuracy of sensitive layers at some of the blocks.", "以部分块为代价保住敏感层的精度。"),
    raising={"kv": "worse"},
)
