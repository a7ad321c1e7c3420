"""What a reader must know beside the answer: what was handled on the way in, restarts, what was left out."""

from __future__ import annotations

import math

from whystall.model.diagnosis import Notice
from whystall.model.engine_state import EngineState
from whystall.model.recording import Recording
from whystall.model.text import Text

from .catalogue import refused


def notices_of(recording: Recording, states: list[EngineState]) -> tuple[Notice, ...]:
    """What was handled on the way in, and what was seen of the server itself."""
    found = [Notice(w.id, w.text) for w in recording.warnings]
    if (
        len(recording.metrics.times)
        and recording.metrics.failed
        and "failed_scrapes" not in {notice.id for notice in found}
    ):
        text = Text(
            "{n:one scrape failed; its|# scrapes failed; their} time is bridged", "{n} 次采样失败；其时间已跨越"
        ).format(n=len(recording.metrics.failed))
        found.append(Notice("failed_scrapes", text))
    restarts = sorted({t for state in states for t in state.restarts})
    if restarts:
        text = Text(
            "the server started anew at {when} s; rates are not taken across it",
            "服务器在 {when} 秒处重启；速率不跨越该点计算",
        ).format(when=", ".join(f"{t:.0f}" for t in restarts if math.isfinite(t)))
        found.append(Notice("restart", text))
    unknown = states[0].unknown_names if states else ()
    if unknown:
        text = Text(
            "left out: {n:one metric|# metrics} of a newer version than our tables: {names}",
            "{n} 个指标比我们的表更新，已略过：{names}",
        ).format(n=len(unknown), names=", ".join(unknown[:3]))
        found.append(Notice("unknown_metrics", text))
    found += [
        Notice(
            "plugin_refused",
            Text("the plugin {name} was refused: {why}", "插件 {name} 被拒绝：{why}").format(
                name=one.name, why=one.why
            ),
        )
        for one in refused()
    ]
    return tuple(found)
