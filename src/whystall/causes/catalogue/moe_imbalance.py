"""Experts are unevenly loaded over the ranks."""

from __future__ import annotations

from whystall.causes.entry import CauseEntry, Link, LookAlike, Need
from whystall.causes.links import shown_by_contrast
from whystall.model.text import Text

CAUSE = CauseEntry(
    id="moe_imbalance",
    title=Text(
        "Uneven experts",
        "专家负载不均",
    ),
    what=Text(
        "A few experts take most tokens; the ranks that hold them compute longest and the others wait.",
        "少数专家处理大部分 token；持有它们的 rank 计算最久，其余等待。",
    ),
    predicts=Text(
        "Expert time of the busiest rank well over the mean.",
        "最忙 rank 的专家时间远高于平均。",
    ),
    role="limit",
    bias=-4.0,
    weights={
        "contrast.expert_balance": 7.0,  # the same load without it is better: no observation says more
        "trace.moe_spread": 5.0,  # largest over mean bounds what balance would gain
    },
    links=(
        Link(
            Text(
                "One rank computes more experts: {trace_moe_spread}",
                "某个 rank 的专家计算更多：{trace_moe_spread}",
            ),
            (Need("trace.moe_spread"),),
            rejects=Text(
                "a slow GPU: only its experts take longer",
                "GPU 慢：只有其专家部分更久",
            ),
        ),
    ),
    other_links=(shown_by_contrast("expert_balance"),),
    numbers=(
        Text(
            "busiest rank {trace_moe_spread:.2f} times the mean",
            "最忙 rank 为平均的 {trace_moe_spread:.2f} 倍",
        ),
        Text(
            "{contrast_expert_balance:~2} times worse with it than without",
            "使用时比不使用差 {contrast_expert_balance:~2} 倍",
        ),
    ),
    first_step=Text(
        "Try expert load balancing (--enable-eplb) on one replica and compare: the gain is at most the spread less "
        "one, and its rearranging costs.",
        "在一个副本上试用专家负载均衡（--enable-eplb）并比较：收益至多为不均度减一，且重排有成本。",
    ),
    look_alikes=(
        LookAlike(
            "straggler_rank",
            Text(
                "all kernels of the rank are slow",
                "该 rank 的所有内核都慢",
            ),
        ),
    ),
    hurts_as=("itl", "queue", "contrast"),
    order=3,
    restart=True,
    settled_by=("trace",),
)
