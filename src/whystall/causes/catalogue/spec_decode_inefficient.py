"""Drafting costs more than it wins."""

from __future__ import annotations

from whystall.causes.entry import CauseEntry, Link, LookAlike, Need
from whystall.causes.links import shown_by_contrast
from whystall.model.text import Text

CAUSE = CauseEntry(
    id="spec_decode_inefficient",
    title=Text(
        "Speculative decoding does not pay",
        "投机解码得不偿失",
    ),
    what=Text(
        "A drafter proposes tokens and a step verifies them all. That is free while the step is "
        "bound by reading the weights; with a large batch, or few accepted tokens, the verified "
        "tokens cost more time than the accepted ones save.",
        "草稿器提出 token，一步内全部验证。当步受读权重限制时这是免费的；"
        "批次大或接受的 token 少时，验证的代价超过节省的时间。",
    ),
    predicts=Text(
        "Mean acceptance length over the growth of a step near or below 1.",
        "平均接受长度除以单步的增长接近或低于 1。",
    ),
    role="limit",
    bias=-2.5,
    weights={
        "contrast.speculative": 7.0,  # the same load without it is better: no observation says more
        "spec.gain": 4.5,  # tokens a second with drafting over those without
        "spec.acceptance": 1.0,  # rejected drafts are work for nothing
        "seats.full": -0.5,  # full seats explain a queue
        "kv.saturated": -1.0,  # a full pool explains a queue
    },
    links=(
        Link(
            Text(
                "Drafting does not win its cost: {spec_gain}",
                "投机解码收不回成本：{spec_gain}",
            ),
            (Need("spec.gain"),),
            rejects=Text(
                "a slow GPU: the same GPU gives as much or more without drafts",
                "GPU 慢：同一 GPU 不用草稿时同样快或更快",
            ),
        ),
        Link(
            Text(
                "Few drafts are right: {spec_acceptance}",
                "草稿命中少：{spec_acceptance}",
            ),
            (Need("spec.acceptance"),),
            optional=True,
        ),
    ),
    other_links=(shown_by_contrast("speculative"),),
    numbers=(
        Text(
            "{spec_gain:~3} times the tokens a second of decoding without it",
            "每秒 token 数为不用时的 {spec_gain:~3} 倍",
        ),
        Text(
            "{contrast_speculative:~2} times worse with it than without",
            "使用时比不使用差 {contrast_speculative:~2} 倍",
        ),
    ),
    first_step=Text(
        "Draft fewer tokens (num_speculative_tokens), or take --speculative-config away on replicas "
        "that run large batches; compare both under the same load.",
        "减少草稿 token（num_speculative_tokens），或在大批次副本上去掉 --speculative-config；在相同负载下比较两者。",
    ),
    look_alikes=(
        LookAlike(
            "decode_bandwidth",
            Text(
                "no drafts are made; the step takes what reading weights and KV takes",
                "没有草稿；单步时间等于读取权重与 KV 的时间",
            ),
        ),
        LookAlike(
            "engine_loop_cpu",
            Text(
                "the engine process fills its core while drafts are accepted",
                "草稿被接受，而引擎进程占满其核",
            ),
        ),
        LookAlike(
            "seat_cap",
            Text(
                "running stands at max_num_seqs and drafting still wins",
                "运行数停在 max_num_seqs，而投机解码仍有收益",
            ),
        ),
    ),
    hurts_as=(
        "itl",
        "queue",
        "contrast",
    ),
    restart=True,
    order=2,
    settled_by=(
        "metrics",
        "log",
    ),
)
