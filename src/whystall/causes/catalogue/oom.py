"""The GPU ran out of memory."""

from __future__ import annotations

from whystall.causes.entry import CauseEntry, Link, LookAlike, Need
from whystall.causes.links import NOTHING_ADVANCES
from whystall.model.text import Text

CAUSE = CauseEntry(
    id="oom",
    title=Text(
        "Out of GPU memory",
        "显存不足",
    ),
    what=Text(
        "An allocation failed: activation peaks, logits for many logprobs, adapters or another process took what was "
        "left beside the KV pool.",
        "分配失败：激活峰值、大量 logprobs 的 logits、适配器或其他进程占用了 KV 池之外的剩余显存。",
    ),
    predicts=Text(
        "An out-of-memory line, then the engine's death or failed requests.",
        "先有显存不足记录，随后引擎死亡或请求失败。",
    ),
    role="limit",
    bias=-4.0,
    weights={
        "log.out_of_memory": 6.5,  # the allocator says so
        "progress.frozen": 0.5,  # the engine ends with it
    },
    links=(
        Link(
            Text(
                "An allocation failed: {log_out_of_memory}",
                "分配失败：{log_out_of_memory}",
            ),
            (Need("log.out_of_memory"),),
            rejects=Text(
                "a death for another reason: memory failed first",
                "因其他原因死亡：先是显存失败",
            ),
        ),
        NOTHING_ADVANCES,
    ),
    numbers=(
        Text(
            "{log_out_of_memory:one error|# errors} in the log",
            "日志中 {log_out_of_memory:.0f} 次错误",
        ),
    ),
    first_step=Text(
        "Leave more memory beside the KV pool: lower --gpu-memory-utilization or --kv-cache-memory-bytes, and look "
        "for other processes on the GPU.",
        "在 KV 池之外留更多显存：降低 --gpu-memory-utilization 或 --kv-cache-memory-bytes，并检查 GPU 上的其他进程。",
    ),
    look_alikes=(
        LookAlike(
            "kv_capacity",
            Text(
                "requests wait, nothing fails",
                "请求等待，但没有失败",
            ),
        ),
        LookAlike(
            "engine_dead",
            Text(
                "no out-of-memory line",
                "没有显存不足记录",
            ),
        ),
    ),
    hurts_as=("stall", "refusals", "away"),
    order=0,
    onset_from=("log.out_of_memory",),
    restart=True,
    settled_by=("log",),
)
