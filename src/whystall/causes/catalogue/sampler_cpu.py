"""Sampling takes a large part of each step."""

from __future__ import annotations

from whystall.causes.entry import CauseEntry, Link, LookAlike, Need
from whystall.causes.links import shown_by_contrast
from whystall.model.text import Text

CAUSE = CauseEntry(
    id="sampler_cpu",
    title=Text(
        "Sampling",
        "采样",
    ),
    what=Text(
        "Logits processing, penalties, large logprobs or top-k over the whole vocabulary take as long as the model.",
        "logits 处理、惩罚项、大量 logprobs 或全词表 top-k 所花时间与模型相当。",
    ),
    predicts=Text(
        "Sampling kernels a large share of GPU time, or sampling code of the engine loop's.",
        "采样内核占 GPU 时间比例大，或采样代码占引擎循环时间比例大。",
    ),
    role="limit",
    bias=-4.0,
    weights={
        "contrast.sampling": 7.0,  # the same load without it is better: no observation says more
        "trace.sampling": 5.0,  # its share of the time is what it costs
    },
    links=(
        Link(
            Text(
                "Sampling takes the time: {trace_sampling}",
                "时间花在采样上：{trace_sampling}",
            ),
            (Need("trace.sampling"),),
            rejects=Text(
                "the model: its kernels are the smaller part",
                "模型：其内核占比更小",
            ),
        ),
    ),
    other_links=(shown_by_contrast("sampling"),),
    numbers=(
        Text(
            "{trace_sampling:.0%} of the GPU's time",
            "占 GPU 时间的 {trace_sampling:.0%}",
        ),
        Text(
            "{contrast_sampling:~2} times worse with it than without",
            "使用时比不使用差 {contrast_sampling:~2} 倍",
        ),
    ),
    first_step=Text(
        "Look for requests with logprobs, penalties or prompt_logprobs and measure without them at the same batch.",
        "找出使用 logprobs、惩罚项或 prompt_logprobs 的请求，并在相同批量下去掉它们后测量。",
    ),
    look_alikes=(
        LookAlike(
            "structured_output",
            Text(
                "requests wait for grammars",
                "请求在等待语法编译",
            ),
        ),
    ),
    hurts_as=("itl", "host_gap", "queue", "contrast"),
    order=3,
    settled_by=("trace",),
)
