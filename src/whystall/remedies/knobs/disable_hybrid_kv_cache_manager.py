"""--disable-hybrid-kv-cache-manager: whole KV for sliding windows."""

from __future__ import annotations

from whystall.model.text import Text
from whystall.remedies.knob import Default, Knob, Spelling, Treatment

KNOB = Knob(
    id="disable_hybrid_kv_cache_manager",
    group="scheduler",
    kind="switch",
    what=Text(
        "Keeps the whole context of sliding-window layers in the pool, as if they were full attention.",
        "让滑动窗口层像全注意力一样在池中保留整个上下文。",
    ),
    spellings=(
        Spelling("--disable-hybrid-kv-cache-manager", since="0.10.0", off="--no-disable-hybrid-kv-cache-manager"),
    ),
    defaults=(Default("False"),),
    up=Text("Needs more blocks for the same sequences.", "同样的序列需要更多块。"),
    raising={"kv": "worse"},
    treats=(Treatment("kv_capacity", "off"),),
)
