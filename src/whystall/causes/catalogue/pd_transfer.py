"""KV caches come late from the prefill server."""

from __future__ import annotations

from whystall.causes.entry import CauseEntry, Link, LookAlike, Need
from whystall.causes.links import seen_in_contrast
from whystall.model.text import Text

CAUSE = CauseEntry(
    id="pd_transfer",
    title=Text(
        "KV transfer between servers",
        "服务器间 KV 传输",
    ),
    what=Text(
        "With disaggregated prefill a request waits on the decode server until its KV cache has come "
        "from the prefill server. A slow link, failed or expired transfers, or a connector that "
        "brings nothing make first tokens late.",
        "预填充与解码分离时，请求在解码服务器上等待 KV 缓存从预填充服务器到达。链路慢、"
        "传输失败或过期、或连接器不起作用都会推迟首 token。",
    ),
    predicts=Text(
        "Requests held for a fetch, a transfer time that is a large part of TTFT, failures, or "
        "prompts computed on the decode server.",
        "请求因获取 KV 被搁置，传输时间占 TTFT 的大部分，出现失败，或解码服务器自行计算提示。",
    ),
    role="limit",
    bias=-2.5,
    weights={
        "transfer.fetching": 3.5,  # who waits for a fetch waits for nothing else
        "transfer.time": 3.5,  # the transfer is part of the time to first token
        "transfer.failed": 5.0,  # a failed transfer is waited for and then made up
        "transfer.unused": 4.5,  # a decode server that prefills has no transfers to gain from
        "config.transfer": 1.5,  # without a connector nothing is transferred
        "queue.deferred": 0.5,  # set aside is what the scheduler does with them
        "config.lora": -1.0,  # adapters explain requests set aside
    },
    links=(
        Link(
            Text(
                "Requests wait for a fetch: {transfer_fetching}",
                "请求等待获取：{transfer_fetching}",
            ),
            (Need("transfer.fetching"),),
            rejects=Text(
                "a grammar or an adapter: those are no fetch",
                "语法或适配器：它们不是获取",
            ),
            optional=True,
        ),
        Link(
            Text(
                "The transfer takes its time: {transfer_time}",
                "传输耗时：{transfer_time}",
            ),
            (Need("transfer.time"),),
            rejects=Text(
                "the queue: the transfer is timed by itself",
                "排队：传输时间单独计量",
            ),
            optional=True,
        ),
        Link(
            Text(
                "Transfers fail: {transfer_failed}",
                "传输失败：{transfer_failed}",
            ),
            (Need("transfer.failed"),),
            optional=True,
        ),
        Link(
            Text(
                "Nothing is brought: {transfer_unused}",
                "没有带来任何数据：{transfer_unused}",
            ),
            (Need("transfer.unused"),),
            rejects=Text(
                "a slow link: nothing goes over it",
                "链路慢：其上没有传输",
            ),
            optional=True,
        ),
    ),
    numbers=(
        Text(
            "{transfer_failed:.1%} of the transfers fail",
            "{transfer_failed:.1%} 的传输失败",
        ),
        Text(
            "{transfer_unused:.0%} of the prompt tokens came over it",
            "仅 {transfer_unused:.0%} 的提示 token 由其带来",
        ),
        Text(
            "transfers take {transfer_time:.0%} of the time to first token",
            "传输占首 token 时间的 {transfer_time:.0%}",
        ),
        Text(
            "{transfer_fetching:.0%} of the requests wait for one",
            "{transfer_fetching:.0%} 的请求在等待",
        ),
    ),
    first_step=Text(
        "Check that both servers name the same connector and reach each other over the fast network "
        "(NIXL side channel port, UCX transport), and compare the transfer rate with the link; where "
        "nothing is brought, check kv_role and that the router passes the transfer parameters on.",
        "确认两端使用相同连接器并经高速网络互通（NIXL 侧信道端口、UCX 传输），"
        "将传输速率与链路比较；若没有数据带来，检查 kv_role 以及路由器是否转发传输参数。",
    ),
    look_alikes=(
        LookAlike(
            "prefill_bound",
            Text(
                "prefill time dominates and no transfer is timed",
                "预填充时间占主导且没有传输计时",
            ),
        ),
        LookAlike(
            "structured_output",
            Text(
                "deferred requests, and none in a fetch stage",
                "请求被搁置，但无一处于获取阶段",
            ),
        ),
        LookAlike(
            "kv_offload_stall",
            Text(
                "the blocks come from this host: offload counters move, not NIXL",
                "块来自本机：卸载计数器变化，而非 NIXL",
            ),
        ),
        LookAlike(
            "network",
            Text(
                "the client alone is late; the server times its TTFT as usual",
                "仅客户端延迟；服务器的 TTFT 如常",
            ),
        ),
    ),
    hurts_as=(
        "queue",
        "front",
        "itl",
    ),
    restart=True,
    order=1,
    settled_by=(
        "metrics",
        "config",
        "log",
    ),
)

CAUSE = seen_in_contrast(CAUSE, "pd")
