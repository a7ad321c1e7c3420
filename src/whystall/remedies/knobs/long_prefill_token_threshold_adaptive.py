"""--long-prefill-token-threshold-adaptive: a cap that follows the load."""

from __future__ import annotations

from whystall.model.text import Text
from whystall.remedies.knob import Default, Knob, Spelling, Treatment

KNOB = Knob(
    id="long_prefill_token_threshold_adaptive",
    group="scheduler",
    kind="switch",
    what=Text(
        "Raises the cap of a chunk to the budget over all requests, so that few requests share the whole step. "
        "Does nothing without that cap.",
        "把分块上限提高到“预算 / 请求数”，使请求少时能用满一步。未设上限时不起作用。",
    ),
    spellings=(
        Spelling(
            "--long-prefill-token-threshold-adaptive", since="0.31.0", off="--no-long-prefill-token-threshold-adaptive"
        ),
    ),
    defaults=(Default("False"),),
    up=Text("Long prompts are less slow while there is little else to do.", "在负载较低时，长提示不会被拖得太慢。"),
    raising={"ttft": "better"},
    treats=(Treatment("head_of_line_prompt", "on"),),
)
