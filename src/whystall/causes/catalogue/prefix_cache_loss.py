"""Prompts that the prefix cache used to supply are computed again."""

from __future__ import annotations

from whystall.causes.entry import CauseEntry, Link, LookAlike, Need
from whystall.causes.links import FIRST_TOKENS_LATE, seen_in_contrast
from whystall.model.text import Text

CAUSE = CauseEntry(
    id="prefix_cache_loss",
    title=Text(
        "Prefix cache lost",
        "前缀缓存失效",
    ),
    what=Text(
        "The share of prompt tokens found in the prefix cache fell, so the same prompts cost many times the prefill.",
        "提示 token 的前缀缓存命中率下降，同样的提示需要数倍的预填充。",
    ),
    predicts=Text(
        "Hit rate (of counter deltas) falls at the onset, prompt length and request rate unchanged, computed prompt "
        "tokens multiply.",
        "命中率（按计数器增量）在起点下降，提示长度与请求率不变，计算的提示 token 成倍增加。",
    ),
    role="trigger",
    bias=-2.5,
    weights={
        "progress.frozen": -4.0,  # a frozen engine admits nobody, whatever the limit
        "prefix.lost": 8.0,  # hits over queries from deltas is the mechanism itself
        "log.prefix_reset": 1.0,  # somebody emptied it
        "prefill.busy": 1.0,  # the prompts are computed
        "queue.delay": 0.7,  # and waited for
        "prompts.longer": -1.0,  # longer prompts lower the rate without a loss
    },
    links=(
        FIRST_TOKENS_LATE,
        Link(
            Text(
                "The cache stopped supplying: {prefix_lost}",
                "缓存不再提供：{prefix_lost}",
            ),
            (Need("prefix.lost"),),
            rejects=Text(
                "longer prompts: their length is as before",
                "提示变长：长度与此前相同",
            ),
        ),
        Link(
            Text(
                "So prefill fills the time: {prefill_busy}",
                "于是预填充占满时间：{prefill_busy}",
            ),
            (Need("prefill.busy"),),
            optional=True,
        ),
    ),
    numbers=(
        Text(
            "hit rate down by {prefix_lost:.0%}",
            "命中率下降 {prefix_lost:.0%}",
        ),
    ),
    first_step=Text(
        "Look at the first tokens of the prompts: a timestamp, an id or a new template in front makes every prefix "
        "unique. Check cache resets, router affinity and cache_salt.",
        "检查提示开头的 token：时间戳、ID 或新模板放在前面会使每个前缀唯一。检查缓存重置、路由亲和性与 cache_salt。",
    ),
    look_alikes=(
        LookAlike(
            "longer_prompts",
            Text(
                "prompt length rose",
                "提示长度上升",
            ),
        ),
        LookAlike(
            "prefill_bound",
            Text(
                "hit rate was never higher",
                "命中率从未更高",
            ),
        ),
    ),
    hurts_as=("queue", "itl"),
    order=0,
    onset_from=("prefix.lost",),
    settled_by=("metrics",),
)

CAUSE = seen_in_contrast(CAUSE, "prefix_cache")
