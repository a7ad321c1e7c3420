"""--max-num-scheduled-tokens: the token budget alone, without the profile run."""

from __future__ import annotations

from whystall.model.text import Text
from whystall.remedies.knob import Default, Knob, Legal, Rule, Spelling, Treatment
from whystall.remedies.relation import at_most

KNOB = Knob(
    id="max_num_scheduled_tokens",
    group="scheduler",
    kind="whole",
    what=Text(
        "The budget of a step as the scheduler uses it; memory is still profiled at max_num_batched_tokens.",
        "调度器使用的单步预算；显存仍按 max_num_batched_tokens 剖析。",
    ),
    spellings=(Spelling("--max-num-scheduled-tokens", since="0.26.0"),),
    defaults=(Default("max_num_batched_tokens"),),
    legal=Legal(low=1),
    needs=(
        Rule(
            "scheduled_within_budget",
            Text(
                "max_num_scheduled_tokens must not be above max_num_batched_tokens",
                "max_num_scheduled_tokens 不得大于 max_num_batched_tokens",
            ),
            at_most("max_num_scheduled_tokens", "max_num_batched_tokens"),
        ),
    ),
    up=Text("As max_num_batched_tokens, at the same memory.", "与 max_num_batched_tokens 相同，但显存不变。"),
    raising={"ttft": "better", "itl": "worse"},
    treats=(Treatment("token_budget", "raise"), Treatment("prefill_interference", "lower")),
)
