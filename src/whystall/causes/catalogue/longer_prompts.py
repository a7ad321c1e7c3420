"""Prompts became longer."""

from __future__ import annotations

from whystall.causes.entry import CauseEntry, Link, LookAlike, Need
from whystall.causes.links import FIRST_TOKENS_LATE
from whystall.model.text import Text

CAUSE = CauseEntry(
    id="longer_prompts",
    title=Text(
        "Longer prompts",
        "提示变长",
    ),
    what=Text(
        "The mean prompt grew, so each request takes more KV blocks and more prefill.",
        "平均提示变长，每个请求占用更多 KV 块和预填充时间。",
    ),
    predicts=Text(
        "Prompt tokens a request step up at the onset, rate of requests unchanged; a limit (KV, prefill) follows.",
        "每请求提示 token 在起点跳升，请求率不变；随后某个上限（KV、预填充）被触及。",
    ),
    role="trigger",
    bias=-2.5,
    weights={
        "progress.frozen": -4.0,  # a frozen engine admits nobody, whatever the limit
        "prompts.longer": 4.5,  # the shift itself
        "queue.delay": 0.7,  # somebody waits for it
        "itl.mixed_steps": 0.5,  # or gets tokens late
        "requests.more": -1.0,  # a larger crowd explains the load without longer prompts
        "prompts.victims": -3.0,  # a giant among short ones moves the mean, and they wait for it alone
        "peers.load": -3.0,  # longer here only: that is the balancer's doing
        "peers.room": -2.0,  # likewise
        "prefix.lost": -2.0,  # the same prompts without a cache look longer to the GPU
    },
    links=(
        FIRST_TOKENS_LATE,
        Link(
            Text(
                "Prompts grew: {prompts_longer}",
                "提示变长：{prompts_longer}",
            ),
            (Need("prompts.longer"),),
            rejects=Text(
                "a lost prefix cache: the prompts themselves are longer",
                "前缀缓存丢失：提示本身变长了",
            ),
        ),
    ),
    numbers=(
        Text(
            "{prompts_longer:.1f} times those before",
            "为此前的 {prompts_longer:.1f} 倍",
        ),
    ),
    first_step=Text(
        "Find who sends the longer prompts (compare request_prompt_tokens by client or tenant); size the pool for "
        "them or bound them.",
        "找出谁在发送更长的提示（按客户端或租户比较 request_prompt_tokens）；按其规模配置块池或加以限制。",
    ),
    look_alikes=(
        LookAlike(
            "prefix_cache_loss",
            Text(
                "prompt length unchanged, hit rate fell",
                "提示长度不变，命中率下降",
            ),
        ),
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
    acts_through=("kv_capacity", "prefill_bound", "token_budget", "prefill_interference", "seat_cap", "overload"),
    alone_as=("ttft", "e2e"),  # each prompt takes longer to compute, limit or none
    onset_from=("prompts.longer",),
    settled_by=("metrics",),
)
