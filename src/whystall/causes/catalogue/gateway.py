"""A proxy between client and server holds tokens back."""

from __future__ import annotations

from whystall.causes.entry import CauseEntry, Link, LookAlike, Need
from whystall.causes.links import LATE_AT_THE_CLIENT, seen_in_contrast
from whystall.model.text import Text

_CLUMPS = Link(
    Text(
        "Tokens come in clumps: {client_clumps}",
        "token 成块到达：{client_clumps}",
    ),
    (Need("client.clumps"),),
    rejects=Text(
        "the network: that keeps the spacing",
        "网络：那会保持间隔",
    ),
)

CAUSE = CauseEntry(
    id="gateway",
    title=Text(
        "Gateway buffers",
        "网关缓冲",
    ),
    what=Text(
        "A proxy, parser or batcher collects the stream and passes it on in pieces, or queues requests at a "
        "connection limit of its own.",
        "代理、解析器或聚合器收集流并分块转发，或在自身的连接上限处排队。",
    ),
    predicts=Text(
        "Client TTFT far above the server's and client ITL far below the engine's.",
        "客户端 TTFT 远高于服务器，而客户端 ITL 远低于引擎。",
    ),
    role="limit",
    bias=-4.0,
    weights={
        "cpu.run_delay": -3.0,  # a server without a CPU hands its tokens on late
        "client.gap": 2.5,  # the difference is what lies between
        "client.clumps": 4.0,  # tokens that come faster than they were made were held back
    },
    links=(
        LATE_AT_THE_CLIENT,
        _CLUMPS,
    ),
    other_links=((_CLUMPS,),),  # beside a first token that is late for more than that, the gap is small
    numbers=(
        Text(
            "{client_gap:span} held back",
            "扣留 {client_gap:span}",
        ),
    ),
    first_step=Text(
        "Turn off response buffering on the way (proxy_buffering, compression of event streams) and raise its "
        "connection limits.",
        "关闭链路上的响应缓冲（proxy_buffering、事件流压缩）并提高其连接上限。",
    ),
    look_alikes=(
        LookAlike(
            "network",
            Text(
                "tokens keep their spacing",
                "token 保持间隔",
            ),
        ),
    ),
    hurts_as=("client",),
    order=1,
    settled_by=("client",),
)

CAUSE = seen_in_contrast(CAUSE, "gateway")
