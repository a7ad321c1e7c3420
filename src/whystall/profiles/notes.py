"""Sentences about a summary: folk thresholds with what they do and do not mean, and what the file cannot say."""

from __future__ import annotations

from whystall.model.text import Text

from .summary import Note, TraceSummary

_ATTENTION, _ALL_REDUCE, _COPIES, _LONG_KERNEL_NS = 0.40, 0.20, 0.10, 10_000_000


def notes(summary: TraceSummary, header: dict[str, object]) -> tuple[Note, ...]:
    """All notes that apply, rules first."""
    return (*_rules(summary), *_missing(summary, header))


def _rules(summary: TraceSummary) -> list[Note]:
    found = []
    attention, copies = summary.family("attention"), summary.family("copy")
    if attention and attention.share > _ATTENTION:
        found.append(Note("attention_over_40", "rule", _ATTENTION_TEXT.format(share=attention.share)))
    if summary.communication and summary.communication.share > _ALL_REDUCE:
        comm = summary.communication
        text = _COLLECTIVE_TEXT.format(share=comm.share, exposed=comm.exposed_ratio or 0.0)
        found.append(Note("collective_over_20", "rule", text))
    if copies and copies.share > _COPIES:
        found.append(Note("copy_over_10", "rule", _COPY_TEXT.format(share=copies.share)))
    longest = max((row for row in summary.kernels if row.class_id != "copy"), key=lambda row: row.max_ns, default=None)
    if longest and longest.max_ns > _LONG_KERNEL_NS:
        ms = longest.max_ns / 1e6
        found.append(Note("kernel_over_10ms", "rule", _LONG_TEXT.format(ms=ms, name=longest.name[:60])))
    return found


def _missing(summary: TraceSummary, header: dict[str, object]) -> list[Note]:
    found: list[Note] = []
    if not summary.rows:
        return found
    if not summary.steps:
        found.append(Note("no_steps", "missing", _NO_STEPS))
    if not summary.memory:
        found.append(Note("no_memory", "missing", _NO_MEMORY))
    if summary.format == "pytorch" and not header.get("record_shapes"):
        found.append(Note("no_shapes", "missing", _NO_SHAPES))
    if summary.launches.unlinked_share > 0.05:
        found.append(Note("unlinked", "missing", _UNLINKED.format(share=summary.launches.unlinked_share)))
    if (summary.world_size or 1) > 1:
        found.append(Note("one_rank", "missing", _ONE_RANK.format(n=summary.world_size)))
    return found


_ATTENTION_TEXT = Text(
    "Attention takes {share:.0%} of GPU time, over the 40% rule of thumb. Long contexts do that by themselves; it is a "
    "fault only if the same batch took less before.",
    "注意力占 GPU 时间的 {share:.0%}，超过 40% 的经验阈值。长上下文本身就会如此；只有同样的批次以前更少时才算异常。",
)
_COLLECTIVE_TEXT = Text(
    "Collectives take {share:.0%} of GPU time, over the 20% rule of thumb; {exposed:.0%} of that is exposed. Their time "
    "includes waiting for the slowest rank: compare ranks before blaming the link.",
    "集合通信占 GPU 时间的 {share:.0%}，超过 20% 的经验阈值；其中 {exposed:.0%} 没有被计算掩盖。"
    "它包含等待最慢 rank 的时间：先比较各 rank，再怪链路。",
)
_COPY_TEXT = Text(
    "Copies take {share:.0%} of GPU time, over the 10% rule of thumb. Only what is exposed costs latency; look at "
    "pageable and blocking copies first.",
    "拷贝占 GPU 时间的 {share:.0%}，超过 10% 的经验阈值。只有未被掩盖的部分增加延迟；先看 pageable 与阻塞式拷贝。",
)
_LONG_TEXT = Text(
    "One kernel ran {ms:.1f} ms ({name}), over the 10 ms rule of thumb. A large prefill does that; a decode kernel "
    "should not.",
    "有一个内核运行了 {ms:.1f} 毫秒（{name}），超过 10 毫秒的经验阈值。大的 prefill 会如此，decode 内核不应如此。",
)
_NO_STEPS = Text(
    "No step annotations: prefill and decode cannot be told apart (vLLM writes them since 0.9; SGLang with its own).",
    "没有步骤标注：无法区分 prefill 与 decode（vLLM 0.9 起默认写入，SGLang 有自己的标注）。",
)
_NO_MEMORY = Text(
    "No allocator events (torch_profiler_with_memory was off): nothing is said of memory.",
    "没有分配器事件（torch_profiler_with_memory 未开）：不评价显存。",
)
_NO_SHAPES = Text(
    "No shapes (torch_profiler_record_shapes was off): no roofline.",
    "没有形状（torch_profiler_record_shapes 未开）：不做 roofline。",
)
_UNLINKED = Text(
    "{share:.0%} of GPU time has no launching call in the window (launched before it began): it counts as GPU time, not "
    "towards launch delays or steps.",
    "{share:.0%} 的 GPU 时间在窗口内没有对应的启动调用（窗口开始前启动）：计入 GPU 时间，不计入启动延迟与步骤。",
)
_ONE_RANK = Text(
    "One of {n} ranks: waiting and wire time of collectives cannot be told apart. Give all ranks' files.",
    "只有 {n} 个 rank 中的一个：无法区分集合通信的等待与传输。请给出所有 rank 的文件。",
)
