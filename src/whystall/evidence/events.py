"""Log lines that name what happened: deaths, faults, pauses."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from whystall.model.configuration import LogEvent
from whystall.model.diagnosis import Evidence
from whystall.model.text import Text

from .scene import Scene

# A process writes its last lines within this time of what its counters show.
_NEAR_S = 15.0
_QUOTED_CHARS = 160
_QUOTED = Text("{words}: “{line}”", "{words}：“{line}”")


class EventKind(msgspec.Struct, frozen=True):
    """Evidence ``id`` from any of the log events ``events``; ``text`` may name ``{count}`` and ``{first}``.

    ``absent`` words that the log has none of them; None where some versions never write the line, so that its absence
    says nothing. ``quoted``: the first line itself stands behind the text, since who reads it acts on its words.
    """

    id: str
    events: tuple[str, ...]
    text: Text
    absent: Text | None
    quoted: bool = False


KINDS = (
    EventKind(
        "log.engine_dead",
        ("engine_dead", "worker_dead", "engine_dump"),
        Text("the log says that the engine died, first at {first:span}", "日志显示引擎已死亡，最早在 {first:span}"),
        Text("the log tells of no death of the engine", "日志中没有引擎死亡的记录"),
        quoted=True,
    ),
    EventKind(
        "log.out_of_memory",
        ("out_of_memory",),
        Text(
            "the log shows {count:one out-of-memory error|# out-of-memory errors}, first at {first:span}",
            "日志有 {count} 次显存不足，最早在 {first:span}",
        ),
        Text("the log tells of no lack of memory", "日志中没有显存不足的记录"),
        quoted=True,
    ),
    EventKind(
        "log.gpu_fault",
        ("gpu_fault",),
        Text(
            "the log shows {count:one GPU fault|# GPU faults} (Xid), first at {first:span}",
            "日志有 {count} 次 GPU 故障（Xid），最早在 {first:span}",
        ),
        Text("the log tells of no GPU fault (Xid)", "日志中没有 GPU 故障（Xid）的记录"),
        quoted=True,
    ),
    EventKind(
        "log.rank_stalled",
        ("shm_stall", "rpc_timeout", "nccl_timeout"),
        Text(
            "a process waited for another one {count:once|# times}, first at {first:span}",
            "进程互相等待 {count} 次，最早在 {first:span}",
        ),
        Text("the log tells of no process that waited for another", "日志中没有进程互相等待的记录"),
        quoted=True,
    ),
    EventKind(
        "log.jit_compile",
        ("jit_compile",),
        Text(
            "kernels were compiled while serving {count:once|# times}, first at {first:span}",
            "服务期间编译内核 {count} 次，最早在 {first:span}",
        ),
        Text("the log tells of no compilation while serving", "日志中没有服务期间编译的记录"),
        quoted=True,
    ),
    EventKind(
        "log.gc_pause",
        ("gc_pause",),
        Text(
            "the collector paused Python {count:once|# times}, first at {first:span}",
            "垃圾回收暂停 Python {count} 次，最早在 {first:span}",
        ),
        Text("the log tells of no collection pause", "日志中没有垃圾回收停顿的记录"),
    ),
    EventKind(
        "log.preempted",
        ("preemption",),
        Text(
            "the log shows preempted sequences, {count:one line|# lines}, first at {first:span}",
            "日志显示序列被抢占，{count} 行，最早在 {first:span}",
        ),
        None,  # V1 has no such line
    ),
    EventKind(
        "log.refused",
        ("admission_rejected",),
        Text(
            "the log shows requests refused by the queue limit, {count:one line|# lines}, first at {first:span}",
            "日志显示请求被队列上限拒绝，{count} 行，最早在 {first:span}",
        ),
        None,
    ),
    EventKind(
        "log.prefix_reset",
        ("prefix_cache_reset",),
        Text("the prefix cache was emptied at {first:span}", "前缀缓存在 {first:span}处被清空"),
        None,
    ),
    EventKind(
        "log.reset_failed",
        ("prefix_cache_reset_failed",),
        Text(
            "the prefix cache could not be emptied at {first:span}: blocks were in use",
            "{first:span}处未能清空前缀缓存：仍有块在使用",
        ),
        None,
    ),
    EventKind(
        "log.too_long",
        ("prompt_too_long",),
        Text(
            "the server refused prompts that are too long for the model, {count:one line|# lines}, first at {first:span}",
            "服务器拒绝了超出模型长度的提示，{count} 行，最早在 {first:span}",
        ),
        None,
    ),
)


def events(scene: Scene) -> Iterator[Evidence]:
    """One piece of evidence a kind: for it where a line stands in or near the incident, against it where none does."""
    if "log" not in scene.state.signals:
        return
    for kind in KINDS:
        dated = [e for e in scene.state.events if e.id in kind.events and e.t is not None]
        if dated:
            yield _seen(scene, kind, dated)
        elif kind.absent is not None:
            yield scene.evidence(kind.id, 0.0, "events", -0.5, kind.absent, "log")


def _seen(scene: Scene, kind: EventKind, dated: list[LogEvent]) -> Evidence:
    times = [e.t - scene.state.start for e in dated if e.t is not None]
    start, stop = _incident(scene)
    near = any(start - _NEAR_S <= t <= stop + _NEAR_S for t in times)
    words = kind.text.format(count=len(times), first=min(times))
    if kind.quoted:
        words = _QUOTED.format(words=words, line=_line(min(dated, key=lambda e: e.t or 0.0)))
    onset = scene.onset_at(min(times))
    return scene.evidence(kind.id, len(times), "events", 1.5 if near else 0.2, words, "log", onset, anomaly=near)


def _line(event: LogEvent) -> str:
    """The line in one piece, without what no terminal should get, and not longer than somebody reads."""
    text = " ".join("".join(c if c.isprintable() else " " for c in event.text[: 4 * _QUOTED_CHARS]).split())
    return text if len(text) <= _QUOTED_CHARS else text[: _QUOTED_CHARS - 1] + "…"


def _incident(scene: Scene) -> tuple[float, float]:
    inside = scene.focus.inside
    first, last = int(inside.argmax()), len(inside) - 1 - int(inside[::-1].argmax())
    start, stop = float(scene.state.t_start[first]), float(scene.state.t_end[last])
    if first == 0:
        start -= scene.state.unanswered_before_s
    return start, stop + (scene.state.unanswered_after_s if last == len(inside) - 1 else 0.0)
