"""The API process is the limit: tokenising, detokenising, JSON, streaming."""

from __future__ import annotations

from whystall.causes.entry import CauseEntry, Link, LookAlike, Need
from whystall.causes.links import seen_in_contrast
from whystall.model.text import Text

CAUSE = CauseEntry(
    id="frontend_cpu",
    title=Text(
        "Front end CPU-bound",
        "前端 CPU 受限",
    ),
    what=Text(
        "One Python process does HTTP, tokenising and detokenising for all; when it fills its core, requests queue "
        "in it where the engine's metrics do not see them.",
        "一个 Python 进程为所有请求做 HTTP、分词与反分词；当它用满一个核时，请求在其中排队，引擎指标看不到。",
    ),
    predicts=Text(
        "TTFT far above queue plus prefill; process_cpu_seconds at one core; the engine not busy.",
        "TTFT 远高于排队加预填充；process_cpu_seconds 达到一个核；引擎不忙。",
    ),
    role="limit",
    bias=-2.5,
    weights={
        "front.residual": 3.0,  # what is neither queue nor prefill is the front end
        "api.core": 3.5,  # its process fills its core
        "cpu.wanted": -1.0,  # a process that is not busy waits for something else
        "cpu.throttled": -2.0,  # the quota explains it
        "mm.computed": -2.0,  # media are prepared there
    },
    links=(
        Link(
            Text(
                "Time is lost before the engine: {front_residual}",
                "时间损失在引擎之前：{front_residual}",
            ),
            (Need("front.residual"),),
            rejects=Text(
                "the queue and the prefill: both are subtracted",
                "排队与预填充：两者已扣除",
            ),
        ),
        Link(
            Text(
                "Its process is full: {api_core}",
                "其进程已满：{api_core}",
            ),
            (Need("api.core"),),
            rejects=Text(
                "a lack of cores: the process got all that one can use",
                "缺核：该进程已得到它能用的全部",
            ),
            optional=True,
        ),
    ),
    numbers=(
        Text(
            "{front_residual:span} before the engine",
            "进入引擎前耗去 {front_residual:span}",
        ),
    ),
    first_step=Text(
        "Raise --api-server-count (metrics move to multiprocess mode), or stream in larger pieces with "
        "--stream-interval.",
        "提高 --api-server-count（指标会切换到多进程模式），或用 --stream-interval 以更大的片段流式输出。",
    ),
    look_alikes=(
        LookAlike(
            "cpu_starved",
            Text(
                "the process is slow at half a core",
                "该进程在半个核上就已变慢",
            ),
        ),
        LookAlike(
            "network",
            Text(
                "client TTFT exceeds the server's",
                "客户端 TTFT 高于服务器",
            ),
        ),
    ),
    hurts_as=("front",),
    restart=True,
    order=2,
    settled_by=("host",),
)

CAUSE = seen_in_contrast(CAUSE, "frontend")
