"""--enable-prompt-tokens-details: cached tokens in the answer."""

from __future__ import annotations

from whystall.model.text import Text
from whystall.remedies.knob import Default, Knob, Spelling

KNOB = Knob(
    id="enable_prompt_tokens_details",
    group="observability",
    kind="switch",
    what=Text(
        "Tells each client how many of its prompt tokens were cached.", "告知客户端其提示中有多少 token 命中缓存。"
    ),
    spellings=(Spelling("--enable-prompt-tokens-details", off="--no-enable-prompt-tokens-details", since="0.8.5"),),
    defaults=(Default("False"),),
    up=Text("Costs nothing that can be measured.", "无可测量的代价。"),
)
