"""The way between client and server takes the time."""

from __future__ import annotations

from whystall.causes.entry import CauseEntry, LookAlike
from whystall.causes.links import LATE_AT_THE_CLIENT
from whystall.model.text import Text

CAUSE = CauseEntry(
    id="network",
    title=Text(
        "Network delay",
        "网络延迟",
    ),
    what=Text(
        "Round trips, loss or a slow client add to every first token; the server's own figures are normal.",
        "往返时延、丢包或慢客户端增加了每个首 token 的时间；服务器自身数据正常。",
    ),
    predicts=Text(
        "Client TTFT above the server's by a steady amount, tokens as evenly spaced as they were made.",
        "客户端 TTFT 稳定高于服务器，token 间隔与生成时一样均匀。",
    ),
    role="limit",
    bias=-2.0,
    weights={
        "cpu.run_delay": -3.0,  # a server without a CPU hands its tokens on late
        "client.gap": 4.0,  # the difference is what lies between
        "client.clumps": -5.0,  # a distance makes no clumps: a buffer hands tokens on in them
        "client.send_lag": -2.0,  # a client that is late itself explains it
        "api.core": -3.0,  # a front end that fills its core hands everything on late
    },
    links=(LATE_AT_THE_CLIENT,),
    numbers=(
        Text(
            "{client_gap:span} between server and client",
            "服务器与客户端之间 {client_gap:span}",
        ),
    ),
    first_step=Text(
        "Ask the server from its own host: where that is fast, the way between is it (round trips, TLS, loss, region).",
        "在服务器本机发请求：若很快，则问题在中间链路（往返、TLS、丢包、地域）。",
    ),
    look_alikes=(
        LookAlike(
            "gateway",
            Text(
                "the client's ITL is far below the engine's: tokens come in clumps",
                "客户端 ITL 远低于引擎：token 成块到达",
            ),
        ),
        LookAlike(
            "frontend_cpu",
            Text(
                "the server's own TTFT is high",
                "服务器自身 TTFT 偏高",
            ),
        ),
    ),
    hurts_as=("client",),
    order=2,
    settled_by=("client",),
)
