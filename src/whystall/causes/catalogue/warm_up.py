"""A young server meets what it has not seen yet."""

from __future__ import annotations

from whystall.causes.entry import CauseEntry, Link, LookAlike, Need
from whystall.model.text import Text

CAUSE = CauseEntry(
    id="warm_up",
    title=Text("Still warming up", "仍在预热"),
    what=Text(
        "In its first minutes a server compiles kernels for shapes that it meets, fills caches and opens connections; "
        "its steps pause for that, less and less.",
        "服务器在最初几分钟为遇到的形状编译内核、填充缓存并建立连接；其步因此停顿，且越来越少。",
    ),
    predicts=Text(
        "Long gaps between tokens that die away, on a server that started minutes ago; the same load is fast afterwards.",
        "token 间的长间隔逐渐消失，服务器几分钟前才启动；之后同样负载很快。",
    ),
    role="limit",
    bias=-4.0,
    weights={
        "server.young": 2.5,  # it started minutes ago
        "loss.settles": 4.0,  # and what it loses dies away
        "log.jit_compile": -0.7,  # the log names the better part of it
        "log.gc_pause": -2.0,  # the collector does not die away
        "log.profiler": -2.0,  # nor was it the profiler
        "itl.mixed_steps": -0.7,  # long prompts come in waves, too
        "version.changed": -0.5,  # a slower version stays slow
        "queue.growing": -1.5,  # more than it can serve does not settle
        "prompts.longer": -1.5,  # a load that changed explains it
        "config.eager": -1.5,  # launches stay as slow as they are
        "kv.saturated": -1.5,  # so does a full cache
    },
    links=(
        Link(
            Text("The server is young: {server_young}", "服务器刚启动：{server_young}"),
            (Need("server.young"),),
        ),
        Link(
            Text("It dies away: {loss_settles}", "它逐渐消失：{loss_settles}"),
            (Need("loss.settles"),),
            rejects=Text("a slower version or a limit: those stay", "更慢的版本或上限：它们不会消失"),
        ),
        Link(
            Text("It is not the prompts of others: {itl_mixed_steps}", "并非他人的提示所致：{itl_mixed_steps}"),
            (Need("itl.mixed_steps", 0.5, below=True),),
            rejects=Text("prefill, whose waves come and go", "预填充：它时来时去"),
        ),
        Link(
            Text("Pauses, not slow steps: {step_pauses}", "是停顿而非步变慢：{step_pauses}"),
            (Need("step.pauses", 0.0),),
            optional=True,
        ),
    ),
    numbers=(Text("{loss_settles:.0%} of the loss in the first half of it", "{loss_settles:.0%} 的损失在前半段"),),
    first_step=Text(
        "Nothing on this server: it passes. Before the next start, send it some requests of the usual shapes before "
        "the balancer does, and keep its compile cache on a volume.",
        "此服务器无需处理：会自行过去。下次启动前，在均衡器接入之前先发送一些常见形状的请求，并把编译缓存放在卷上。",
    ),
    look_alikes=(
        LookAlike("version_regression", Text("the excess stays", "超出部分一直存在")),
        LookAlike(
            "jit_compile", Text("the log names kernels, and the server is old", "日志写出内核名，且服务器已运行很久")
        ),
        LookAlike("burst", Text("requests queue, steps are as fast as ever", "请求排队，而步一如既往地快")),
    ),
    hurts_as=("itl", "stall", "queue", "front", "host_gap"),
    order=2,
    settled_by=("metrics", "log"),
)
