"""The server is not up yet."""

from __future__ import annotations

from whystall.causes.entry import CauseEntry, Link, LookAlike, Need
from whystall.causes.links import seen_in_contrast
from whystall.model.text import Text

CAUSE = CauseEntry(
    id="weight_loading",
    title=Text(
        "Still starting: weights and compilation",
        "仍在启动：加载权重与编译",
    ),
    what=Text(
        "A start reads the weights, profiles memory, compiles and captures graphs, and serves "
        "nothing before all is done. From a slow disk, or with a compile cache that is thrown away, "
        "that takes minutes.",
        "启动要读取权重、分析显存、编译并捕获 graph，完成之前不提供服务。磁盘慢或编译缓存被丢弃时需要数分钟。",
    ),
    predicts=Text(
        "No page while the log shows phases of a start; then counters that begin at zero.",
        "日志显示启动阶段期间没有指标页面；随后计数器从零开始。",
    ),
    role="limit",
    bias=-3.0,
    weights={
        "server.back": 1.0,  # it was long away and came back: what took so long was its start
        "server.away": 1.0,  # nothing is served meanwhile
        "startup.loading": 4.0,  # the log times the phases
        "startup.fresh": 2.0,  # an engine that has served nothing has just started
        "startup.failed": -4.0,  # a start that failed is not one that takes long
        "memory.dropped": -2.0,  # a leak explains the restart
        "config.changed": -1.0,  # new settings explain it
    },
    links=(
        Link(
            Text(
                "The server did not answer: {server_away}",
                "服务器没有响应：{server_away}",
            ),
            (Need("server.away"),),
        ),
        Link(
            Text(
                "It had served nothing before: {startup_fresh}",
                "此前尚未服务：{startup_fresh}",
            ),
            (Need("startup.fresh"),),
            rejects=Text(
                "a network that was down: counters would have gone on",
                "网络中断：计数器会继续增长",
            ),
            optional=True,
        ),
        Link(
            Text(
                "The start itself takes the time: {startup_loading}",
                "启动本身耗时：{startup_loading}",
            ),
            (Need("startup.loading"),),
            rejects=Text(
                "a crash: the start is under way",
                "崩溃：启动正在进行",
            ),
            optional=True,
        ),
    ),
    numbers=(
        Text(
            "{startup_loading:span} of loading and compiling",
            "加载与编译 {startup_loading:span}",
        ),
        Text(
            "{server_away:span} without a page",
            "{server_away:span}没有指标页面",
        ),
    ),
    first_step=Text(
        "Keep the weights on a local disk or in the page cache and the compile cache on a volume "
        "that outlives the container (VLLM_CACHE_ROOT), and add replicas before the old ones go.",
        "把权重放在本地磁盘或页缓存中，把编译缓存放在容器之外的卷上（VLLM_CACHE_ROOT），并在旧副本退出前先启动新副本。",
    ),
    look_alikes=(
        LookAlike(
            "startup_failure",
            Text(
                "the log names an error, and no page ever comes",
                "日志给出错误，且始终没有指标页面",
            ),
        ),
        LookAlike(
            "engine_hang",
            Text(
                "a page comes and its counters stand still",
                "有指标页面但计数器停滞",
            ),
        ),
        LookAlike(
            "warm_up",
            Text(
                "it serves, the first requests of each shape are slow",
                "已在服务，每种形状的首批请求慢",
            ),
        ),
        LookAlike(
            "network",
            Text(
                "the first page shows tokens served meanwhile",
                "首个页面显示期间已在服务",
            ),
        ),
    ),
    hurts_as=("away",),
    order=2,
    settled_by=(
        "log",
        "metrics",
    ),
)

CAUSE = seen_in_contrast(CAUSE, "start")
