"""One sentence with the number that binds."""

from __future__ import annotations

from whystall.model.diagnosis import Cause, Impact, Verdict
from whystall.model.text import Text, plain

from .entry import CauseEntry


def headline(
    verdict: Verdict, causes: tuple[Cause, ...], entries: dict[str, CauseEntry], impact: Impact, why: Text
) -> Text:
    """``why`` words what is open when the verdict is unknown, or what an idle server waits for."""
    if verdict == "bottleneck":
        top = causes[0]
        return Text("{title}: {summary}", "{title}：{summary}").format(title=entries[top.id].title, summary=top.summary)
    if verdict == "unknown":
        return Text("Cannot tell: {why}", "无法判断：{why}").format(why=why)
    extra = Text("; {why}", "；{why}").format(why=why) if why.en else Text("", "")
    return Text("Healthy: {figures}{extra}", "健康：{figures}{extra}").format(figures=_figures(impact), extra=extra)


def _figures(impact: Impact) -> Text:
    parts_en, parts_zh = [], []
    if impact.ttft_mean_s is not None:
        parts_en.append(f"mean TTFT {_time(impact.ttft_mean_s)}")
        parts_zh.append(f"平均 TTFT {_time(impact.ttft_mean_s)}")
    if impact.itl_mean_s is not None:
        parts_en.append(f"mean ITL {_time(impact.itl_mean_s)}")
        parts_zh.append(f"平均 ITL {_time(impact.itl_mean_s)}")
    if impact.queue_s is not None:
        parts_en.append(f"queue {_time(impact.queue_s)}")
        parts_zh.append(f"排队 {_time(impact.queue_s)}")
    if not parts_en:
        return Text("no requests in the window", "窗口内没有请求")
    return Text(", ".join(parts_en), "，".join(parts_zh))


def _time(seconds: float) -> str:
    return f"{plain(seconds, 2)} s" if seconds >= 1 else f"{plain(1e3 * seconds, 3)} ms"
