"""One sentence with the number that binds."""

from __future__ import annotations

import string

from whystall.model.diagnosis import Cause, Evidence, Impact, Verdict
from whystall.model.duration import plain, spoken
from whystall.model.text import Text

from .entry import CauseEntry


def headline(
    verdict: Verdict,
    causes: tuple[Cause, ...],
    entries: dict[str, CauseEntry],
    evidence: dict[str, Evidence],
    impact: Impact,
    why: Text,
) -> Text:
    """``why`` words what is open when the verdict is unknown, or what an idle server waits for."""
    if verdict == "bottleneck":
        return named(causes[0], entries[causes[0].id], evidence)
    if verdict == "unknown":
        return Text("Could not tell: {why}", "无法判断：{why}").format(why=why)
    extra = Text("; {why}", "；{why}").format(why=why) if why.en else Text("", "")
    return Text("Healthy: {figures}{extra}", "健康：{figures}{extra}").format(figures=_figures(impact), extra=extra)


def named(cause: Cause, entry: CauseEntry, evidence: dict[str, Evidence]) -> Text:
    """The cause's title and the first of its numbers that was seen; the title alone where none was."""
    values = {e.id.replace(".", "_"): e.value for e in evidence.values() if e.value is not None and e.strength > 0}
    if cause.limit is not None:
        values["limit"] = cause.limit.value
    for number in entry.numbers:
        if fields(number) <= set(values):
            parts = {"title": entry.title, "number": number.format(**values)}
            return Text("{title}: {number}", "{title}：{number}").format(**parts)
    return entry.title


def fields(text: Text) -> set[str]:
    """The names that a template fills in."""
    return {name for _, name, _, _ in string.Formatter().parse(text.en) if name}


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
    """Milliseconds with a digit more than in a sentence: TTFT and ITL are compared by them."""
    return f"{plain(1e3 * seconds, 3)} ms" if 1e-3 <= seconds < 1 else spoken(seconds, "en")
