"""max_num_batched_tokens is so small that steps cost more than their tokens."""

from __future__ import annotations

from whystall.causes.entry import CauseEntry, Link, LookAlike, Need
from whystall.causes.links import MORE_CAME, REQUESTS_WAIT, seen_in_contrast
from whystall.model.text import Text

CAUSE = CauseEntry(
    id="token_budget",
    title=Text(
        "Token budget too small",
        "token 预算过小",
    ),
    what=Text(
        "Every step is filled to max_num_batched_tokens while prompts wait, and the budget is below what the device "
        "needs to be busy: a larger one would carry more tokens in nearly the same time.",
        "有提示等待时每步都填满 max_num_batched_tokens，且预算低于让设备满载所需："
        "更大的预算能在几乎相同的时间内处理更多 token。",
    ),
    predicts=Text(
        "Tokens a step at the budget; a queue; running under the cap; blocks free; steps hardly longer than "
        "decode-only ones.",
        "每步 token 数达到预算；有排队；运行数未到上限；块有余；步时与纯解码步相差无几。",
    ),
    role="limit",
    bias=-2.5,
    weights={
        "progress.frozen": -4.0,  # a frozen engine admits nobody, whatever the limit
        "wait.aside": -2.5,  # who is set aside waits for something else than capacity
        "budget.full": 3.0,  # full steps are the mechanism
        "queue.delay": 1.5,  # prompts wait for their turn
        "prefill.ceiling": -2.5,  # at the device ceiling a larger budget buys next to nothing
        "kv.saturated": -2.0,  # short of blocks, budget does not matter
        "seats.full": -2.0,  # short of seats likewise
    },
    links=(
        REQUESTS_WAIT,
        Link(
            Text(
                "Steps are full: {budget_full}",
                "每步已满：{budget_full}",
            ),
            (Need("budget.full"),),
            rejects=Text(
                "seats and blocks: both are free",
                "席位与块：两者都有余",
            ),
        ),
        Link(
            Text(
                "The device could do more in a step: {prefill_ceiling}",
                "设备单步还能做更多：{prefill_ceiling}",
            ),
            (Need("prefill.ceiling", 0.9, below=True),),
            rejects=Text(
                "prefill at the device's ceiling",
                "预填充已到设备上限",
            ),
            optional=True,
        ),
        MORE_CAME,
    ),
    numbers=(
        Text(
            "{budget_full:.0%} full at {limit:.0f}, {queue_delay:span} wait",
            "{limit:.0f} 已用 {budget_full:.0%}，等待 {queue_delay:span}",
        ),
    ),
    first_step=Text(
        "Raise --max-num-batched-tokens (restart): TTFT falls, the ITL tail rises with the longer steps.",
        "提高 --max-num-batched-tokens（需重启）：TTFT 下降，ITL 尾部随步时变长而上升。",
    ),
    look_alikes=(
        LookAlike(
            "prefill_bound",
            Text(
                "tokens a step are over twice the roofline's ridge, or power or FLOP/s are at their ceiling",
                "每步 token 超过屋顶线拐点两倍，或功率、FLOP/s 已到上限",
            ),
        ),
    ),
    limit="max_num_batched_tokens",
    hurts_as=("queue", "host_gap"),  # steps too small to fill the GPU leave it idle
    restart=True,
    order=2,
    settled_by=("gpu", "config"),
)

CAUSE = seen_in_contrast(CAUSE, "budget")
