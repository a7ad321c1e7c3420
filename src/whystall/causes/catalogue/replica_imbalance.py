"""One engine gets the load of several."""

from __future__ import annotations

from whystall.causes.entry import CauseEntry, Link, LookAlike, Need
from whystall.causes.links import seen_in_contrast
from whystall.model.text import Text

CAUSE = CauseEntry(
    id="replica_imbalance",
    title=Text(
        "Replicas loaded unevenly",
        "副本负载不均",
    ),
    what=Text(
        "The balancer sends most of the work to one engine: sticky sessions, cache-aware routing "
        "with a hot prefix, equal counts of unequal requests. That engine queues while others have "
        "room; averages look healthy.",
        "均衡器把多数工作发给一个引擎：会话粘滞、热点前缀的缓存感知路由、数量相等但大小不等。"
        "该引擎排队而其他有余量；平均值看似健康。",
    ),
    predicts=Text(
        "Requests, KV blocks or tokens here several times the mean of the others, which have no queue.",
        "此处的请求、KV 块或 token 数是其他引擎均值的数倍，而它们没有排队。",
    ),
    role="trigger",
    bias=-2.5,
    weights={
        "peers.load": 5.0,  # the spread itself
        "peers.room": 3.0,  # others could have taken it
        "peers.lockstep": -1.0,  # ranks that step together share the delay
    },
    links=(
        Link(
            Text(
                "This engine carries more than its share: {peers_load}",
                "本引擎负载超过其份额：{peers_load}",
            ),
            (Need("peers.load"),),
            rejects=Text(
                "too little capacity: then all would be full",
                "容量不足：那样所有引擎都会满",
            ),
        ),
        Link(
            Text(
                "Others had room: {peers_room}",
                "其他引擎有余量：{peers_room}",
            ),
            (Need("peers.room"),),
            rejects=Text(
                "an overload: nobody would have room",
                "过载：那样没有引擎有余量",
            ),
        ),
    ),
    numbers=(
        Text(
            "{peers_load:~2} times the load of the other engines",
            "是其他引擎负载的 {peers_load:~2} 倍",
        ),
    ),
    first_step=Text(
        "Balance by load (waiting and KV usage), not by count or by session; with cache-aware "
        "routing cap what one replica may get.",
        "按负载（排队数与 KV 使用率）而非数量或会话均衡；使用缓存感知路由时限制单个副本的份额。",
    ),
    look_alikes=(
        LookAlike(
            "overload",
            Text(
                "the other engines are as full",
                "其他引擎同样满载",
            ),
        ),
        LookAlike(
            "dp_lockstep",
            Text(
                "all engines make the same number of steps and are slow together",
                "所有引擎步数相同且一起变慢",
            ),
        ),
        LookAlike(
            "straggler_rank",
            Text(
                "the slow one carries no more than the others",
                "慢的那个负载并不更多",
            ),
        ),
        LookAlike(
            "prefix_cache_loss",
            Text(
                "its own hit rate fell",
                "自身命中率下降",
            ),
        ),
    ),
    hurts_as=(
        "queue",
        "itl",
        "front",
        "stall",
    ),
    order=0,
    settled_by=("metrics",),
)

CAUSE = seen_in_contrast(CAUSE, "replicas")
