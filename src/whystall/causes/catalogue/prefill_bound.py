"""The device prefills as fast as it can and more prompt tokens come."""

from __future__ import annotations

from whystall.causes.entry import CauseEntry, Link, LookAlike, Need
from whystall.causes.links import MORE_CAME, REQUESTS_WAIT
from whystall.model.text import Text

CAUSE = CauseEntry(
    id="prefill_bound",
    title=Text(
        "Prefill capacity used up",
        "预填充能力耗尽",
    ),
    what=Text(
        "The prompt tokens that arrive take all the time of the device: no batch setting makes it faster, a larger "
        "token budget buys at most the fixed part of a step.",
        "到达的提示 token 占满设备时间：任何批处理设置都无法更快，更大的 token 预算最多只能省下每步的固定开销。",
    ),
    predicts=Text(
        "Most of the engine's time in prefill; the prompt token rate flat at a ceiling; a queue; GPU at its power "
        "limit or the batch far over the ridge.",
        "引擎大部分时间在预填充；提示 token 速率停在上限；有排队；GPU 达到功率上限或批量远超拐点。",
    ),
    role="limit",
    bias=-2.5,
    weights={
        "trace.prefill": 1.0,  # steps of prefill fill the trace
        "compute.full": 1.5,  # busy and at the ceiling at once is what no setting mends
        "progress.frozen": -4.0,  # a frozen engine admits nobody, whatever the limit
        "wait.aside": -2.5,  # who is set aside waits for something else than capacity
        "prefill.busy": 3.0,  # the share of time that prompts take
        "prefill.ceiling": 2.0,  # compute-bound: no setting helps
        "queue.delay": 1.5,  # more arrives than is done
        "kv.saturated": -2.0,  # short of blocks, prompts wait for those
        "kv.preemptions": -1.5,  # recompute also fills steps with prompts
        "seats.full": -1.0,  # short of seats likewise
        "step.residual": -2.0,  # the same prompts took less before
        "gpu.held_down": -2.0,  # a slow clock makes prompts long to compute
        "prefix.lost": -1.5,  # the lost cache explains the extra work
        "prompts.victims": -3.0,  # the short ones wait for a giant, not for capacity
        "peers.load": -3.0,  # it is short here only, because the others get less
        "peers.room": -2.0,  # and they could have taken it
        "progress.stalled": -2.0,  # nothing is computed in a standstill
    },
    links=(
        REQUESTS_WAIT,
        Link(
            Text(
                "Prompts take the time: {prefill_busy}",
                "时间花在提示上：{prefill_busy}",
            ),
            (Need("prefill.busy"),),
            rejects=Text(
                "slow decoding: steps without prompts are short",
                "解码慢：不含提示的步很短",
            ),
        ),
        Link(
            Text(
                "The device is at its ceiling: {prefill_ceiling}",
                "设备已到上限：{prefill_ceiling}",
            ),
            (Need("prefill.ceiling"),),
            rejects=Text(
                "a token budget that is too small: raising it buys little",
                "token 预算过小：提高它收益甚微",
            ),
            optional=True,
        ),
        MORE_CAME,
    ),
    numbers=(
        Text(
            "{prefill_busy:.0%} busy, {queue_delay:span} wait",
            "繁忙 {prefill_busy:.0%}，等待 {queue_delay:span}",
        ),
    ),
    first_step=Text(
        "Bring fewer prompt tokens to the GPU (shared prefixes first in the prompt so that the cache finds them) or "
        "add replicas; a larger --max-num-batched-tokens buys little here.",
        "减少送到 GPU 的提示 token（把共享前缀放在提示开头以便命中缓存）或增加副本；此处更大的 "
        "--max-num-batched-tokens 收益甚微。",
    ),
    look_alikes=(
        LookAlike(
            "token_budget",
            Text(
                "tokens a step are below the ridge and the GPU has power to spare",
                "每步 token 低于拐点且 GPU 功率有余",
            ),
        ),
        LookAlike(
            "prefix_cache_loss",
            Text(
                "the hit rate was higher before",
                "此前命中率更高",
            ),
        ),
        LookAlike(
            "prefill_interference",
            Text(
                "nobody waits, decoding requests suffer",
                "无人等待，受害的是解码中的请求",
            ),
        ),
    ),
    hurts_as=("queue",),
    order=2,
    settled_by=("gpu", "config"),
)
