"""--long-prefill-token-threshold-adaptive: a cap that follows the load."""

from __future__ import annotations

from whystall.model.text import Text
from whystall.remedies.knob import Default, Knob, Rule, Spelling, Treatment
from whystall.remedies.setup import Setup


def _without_threshold(setup: Setup) -> bool | None:
    """It is the floor under another setting."""
    if setup.on("long_prefill_token_threshold_adaptive") is not True:
        return False
    threshold = setup.number("long_prefill_token_threshold")
    return None if threshold is None else threshold <= 0


KNOB = Knob(
    id="long_prefill_token_threshold_adaptive",
    group="scheduler",
    kind="switch",
    what=Text(
        "Raises the cap of a chunk to the budget over all requests, so that few requests share the whole step.",
        "把分块上限提高到“预算 / 请求数”，使请求少时能用满一步。",
    ),
    spellings=(
        Spelling(
            "--long-prefill-token-threshold-adaptive", since="0.31.0", off="--no-long-prefill-token-threshold-adaptive"
        ),
    ),
    defaults=(Default("False"),),
    needs=(
        Rule(
            "adaptive_needs_threshold",
            Text(
                "long_prefill_token_threshold_adaptive needs long_prefill_token_threshold",
                "long_prefill_token_threshold_adaptive 需要同时设置 long_prefill_token_threshold",
            ),
            _without_threshold,
        ),
    ),
    up=Text("Long prompts are less slow while there is little else to do.", "在负载较低时，长提示不会被拖得太慢。"),
    raising={"ttft": "better"},
    treats=(Treatment("head_of_line_prompt", "on"),),
)
