"""Whys that stand in the chains of several causes: one fact, said in one place."""

from __future__ import annotations

import msgspec

from whystall.model.text import Text

from .entry import CauseEntry, Link, Need

FIRST_TOKENS_LATE = Link(
    Text(
        "First tokens come late: {ttft_grown}",
        "首 token 来得晚：{ttft_grown}",
    ),
    (Need("ttft.grown"),),
    optional=True,
)

LATE_AT_THE_CLIENT = Link(
    Text(
        "First tokens are late at the client only: {client_gap}",
        "首 token 只在客户端处延迟：{client_gap}",
    ),
    (Need("client.gap"),),
    rejects=Text(
        "the server: its own time to first token is as it says",
        "服务器：其自身的首 token 时间如其所示",
    ),
)

MORE_CAME = Link(
    Text(
        "More came at once: {requests_surge}",
        "同时到达的请求增多：{requests_surge}",
    ),
    (Need("requests.surge"),),
    optional=True,
)

NOTHING_ADVANCES = Link(
    Text(
        "Nothing advances: {progress_frozen}",
        "没有任何推进：{progress_frozen}",
    ),
    (Need("progress.frozen"),),
    optional=True,
)

REQUESTS_WAIT = Link(
    Text(
        "Requests wait before they run: {queue_delay}",
        "请求在运行前排队：{queue_delay}",
    ),
    (Need("queue.delay", 0.0),),  # a wait that is just felt is a loss (DESIGN, SLO)
)

SET_ASIDE = Link(
    Text(
        "They are set aside, not short of capacity: {queue_deferred}",
        "它们被搁置，而非缺容量：{queue_deferred}",
    ),
    (Need("queue.deferred"),),
    rejects=Text(
        "seats, blocks and budget",
        "席位、块与预算",
    ),
)

STEPS_ARE_SLOWER = Link(
    Text(
        "Steps take longer at equal work: {step_residual}",
        "同等工作下每步更久：{step_residual}",
    ),
    (Need("step.residual"),),
    rejects=Text(
        "more or longer requests: the batch explains only part of the time",
        "更多或更长的请求：批次只能解释部分时间",
    ),
)

STOOD_STILL = Link(
    Text(
        "Everything stood still: {progress_stalled}",
        "一切停止：{progress_stalled}",
    ),
    (Need("progress.stalled"),),
    optional=True,
)


def shown_by_contrast(feature: str) -> tuple[Link, ...]:
    """A chain of one link: a comparison with and without ``feature``, which needs no other proof."""
    name = f"contrast.{feature}"
    place = "{" + name.replace(".", "_") + "}"
    claim = Text(f"A comparison shows it: {place}", f"对比表明：{place}")
    rejects = Text(
        "everything that both runs had alike: load, model and hardware", "两次运行相同的一切：负载、模型与硬件"
    )
    return (Link(claim, (Need(name),), rejects=rejects),)


def seen_in_contrast(entry: CauseEntry, feature: str) -> CauseEntry:
    """``entry``, which a comparison with and without ``feature`` shows as well, with no other proof."""
    name = f"contrast.{feature}"
    figure = "{" + name.replace(".", "_") + ":~2}"
    number = Text(f"{figure} times worse with it than without", f"使用时比不使用差 {figure} 倍")
    return msgspec.structs.replace(
        entry,
        weights={name: 7.0, **entry.weights},  # the same load without it is better: no observation says more
        other_links=(*entry.other_links, shown_by_contrast(feature)),
        numbers=(*entry.numbers, number),
        hurts_as=(*entry.hurts_as, "contrast"),
    )
