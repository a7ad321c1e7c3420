"""--long-prefill-token-threshold: the cap of one request's chunk."""

from __future__ import annotations

from whystall.model.text import Text
from whystall.remedies.knob import Default, Folk, Knob, Legal, Rule, Spelling, Treatment
from whystall.remedies.relation import at_most

KNOB = Knob(
    id="long_prefill_token_threshold",
    group="scheduler",
    kind="whole",
    what=Text(
        "Most prompt tokens of one request in a step; 0 is off. Ignored while a request is alone.",
        "单个请求在一步中的最多提示 token 数；0 为关闭。请求独自运行时忽略。",
    ),
    spellings=(Spelling("--long-prefill-token-threshold", since="0.8.5"),),
    defaults=(Default("0"),),
    legal=Legal(low=0),
    needs=(
        Rule(
            "threshold_within_length",
            Text(
                "long_prefill_token_threshold must not be above max_model_len",
                "long_prefill_token_threshold 不得大于 max_model_len",
            ),
            at_most("long_prefill_token_threshold", "max_model_len"),
        ),
    ),
    up=Text(
        "From 0 to a number: a long prompt no longer takes the whole step, so short requests get a better TTFT and ITL "
        "and the long one a worse TTFT. The higher the number, the weaker this is.",
        "由 0 改为某值：长提示不再独占一步，短请求的 TTFT 与 ITL 改善，长请求的 TTFT 变差。数值越大，作用越弱。",
    ),
    raising={"ttft": "either", "itl": "worse"},
    treats=(Treatment("head_of_line_prompt", "set"), Treatment("prefill_interference", "set")),
    folk=(
        Folk(
            ("head_of_line_prompt",),
            Text("shortest job first, or priority for short requests", "最短作业优先，或让短请求优先"),
            Text(
                "vLLM has no such policy: only fcfs, and priority by a number that the client must send",
                "vLLM 没有这种策略：只有 fcfs，以及由客户端给出数值的 priority",
            ),
        ),
    ),
)
