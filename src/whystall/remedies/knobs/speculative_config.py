"""--speculative-config: drafts that the model only checks."""

from __future__ import annotations

from whystall.model.text import Text
from whystall.remedies.knob import Default, Knob, Spelling, Treatment

KNOB = Knob(
    id="speculative_config",
    group="compute",
    kind="json",
    what=Text(
        "A draft model or method proposes tokens, the model checks them in one step.",
        "由草稿模型或方法提出 token，主模型一步验证。",
    ),
    spellings=(Spelling("--speculative-config", since="0.8.5"), Spelling("-sc", since="0.32.0")),
    defaults=(Default("None"),),
    up=Text(
        "A better ITL at small batches while drafts are accepted; at large batches it costs throughput and KV blocks.",
        "批量小且草稿被接受时 ITL 更好；批量大时损失吞吐与 KV 块。",
    ),
    raising={"itl": "either", "throughput": "either", "kv": "worse"},
    treats=(Treatment("spec_decode_inefficient", "off"),),
)
