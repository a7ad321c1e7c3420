"""--spec-tokens: tokens a draft."""

from __future__ import annotations

from whystall.model.text import Text
from whystall.remedies.knob import Default, Knob, Legal, Spelling, Treatment

KNOB = Knob(
    id="spec_tokens",
    group="compute",
    kind="whole",
    what=Text("Tokens that a draft proposes in each step.", "每步草稿提出的 token 数。"),
    spellings=(Spelling("--spec-tokens", since="0.32.0"),),
    defaults=(Default("None"),),
    legal=Legal(low=1),
    up=Text(
        "More is gained while drafts are accepted, more is thrown away when they are not.",
        "被接受时收益更大，被拒绝时浪费更多。",
    ),
    raising={"itl": "either", "throughput": "either"},
    treats=(Treatment("spec_decode_inefficient", "lower"),),
)
