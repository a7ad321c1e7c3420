"""--enable-prefix-caching: shared prefixes are computed once."""

from __future__ import annotations

from whystall.model.text import Text
from whystall.remedies.knob import Default, Knob, Spelling, Treatment

KNOB = Knob(
    id="enable_prefix_caching",
    group="kv",
    kind="switch",
    what=Text(
        "Keeps full blocks of finished prompts and finds them by their hash.", "保留已完成提示的完整块，并按哈希查找。"
    ),
    spellings=(Spelling("--enable-prefix-caching", off="--no-enable-prefix-caching"),),
    defaults=(Default("True", since="0.8.5"), Default("False", until="0.8.4")),
    up=Text(
        "Prompts that share a prefix get a better TTFT; it costs next to nothing.",
        "共享前缀的提示 TTFT 更好；几乎没有代价。",
    ),
    raising={"ttft": "better", "throughput": "better"},
    treats=(
        Treatment("prefill_bound", "on"),
        Treatment("prefix_cache_loss", "on"),
        Treatment("prefill_interference", "on"),
        Treatment("token_budget", "on"),
    ),
)
