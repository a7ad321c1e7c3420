"""Outputs became longer."""

from __future__ import annotations

from whystall.causes.entry import CauseEntry, Link, LookAlike, Need
from whystall.model.text import Text

CAUSE = CauseEntry(
    id="longer_outputs",
    title=Text(
        "Longer outputs",
        "输出变长",
    ),
    what=Text(
        "Requests generate more tokens, stay longer and hold their blocks and seats longer.",
        "请求生成更多 token，停留更久，占用块和席位更久。",
    ),
    predicts=Text(
        "Output tokens a request step up, running grows at an unchanged rate of arrivals.",
        "每请求输出 token 跳升，到达率不变而运行数增长。",
    ),
    role="trigger",
    bias=-2.5,
    weights={
        "progress.frozen": -4.0,  # a frozen engine admits nobody, whatever the limit
        "outputs.longer": 4.5,  # the shift itself (seen when requests finish)
        "queue.delay": 0.7,  # somebody waits for it
        "requests.more": -1.0,  # a larger crowd explains the load
    },
    links=(
        Link(
            Text(
                "Outputs grew: {outputs_longer}",
                "输出变长：{outputs_longer}",
            ),
            (Need("outputs.longer"),),
            rejects=Text(
                "more requests: each one is longer",
                "请求更多：是每个都变长了",
            ),
        ),
    ),
    numbers=(
        Text(
            "{outputs_longer:.1f} times those before",
            "为此前的 {outputs_longer:.1f} 倍",
        ),
    ),
    first_step=Text(
        "Bound max_tokens, or find the client or template that stopped ending its answers.",
        "限制 max_tokens，或找出不再正常结束回答的客户端或模板。",
    ),
    look_alikes=(
        LookAlike(
            "overload",
            Text(
                "the request rate rose",
                "请求率上升",
            ),
        ),
    ),
    hurts_as=("queue", "itl"),
    order=4,
    acts_through=("kv_capacity", "seat_cap", "overload"),
    alone_as=("e2e",),  # each answer takes longer to write
    onset_from=("outputs.longer",),
    settled_by=("metrics",),
)
