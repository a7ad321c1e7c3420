"""``whystall trace`` as one HTML file: a step timeline and tables, drawn by the page itself, no server."""

from __future__ import annotations

import functools
from typing import Any

import msgspec
from markupsafe import Markup

from whystall import __version__
from whystall.model.text import Text
from whystall.profiles.report import TraceReport
from whystall.profiles.summary import TraceSummary

from .html import asset, embedded, environment, hashed
from .json import to_json
from .trace_sheet import ns
from .trace_tables import about, notes, sheets

MAX_STEPS = 5_000  # drawn; more do not fit on a screen
MAX_KERNELS = 2_000  # of the sortable table
_WORDS = {
    "timeline": Text("Steps over time", "步骤时间线"),
    "host": Text("host", "主机"),
    "gpu": Text("GPU", "GPU"),
    "kernels": Text("All kernels", "全部内核"),
    "filter": Text("filter by name or class", "按名称或类别过滤"),
    "notes": Text("Notes", "说明"),
    "help": Text(
        "Drag to move, scroll to zoom, arrow keys do both. The upper row is the host's annotation, the lower one the GPU "
        "work that it launched.",
        "拖动平移，滚轮缩放，方向键也可以。上行为主机标注，下行为它启动的 GPU 任务。",
    ),
    "step": Text("step", "步骤"),
    "time": Text("time", "时间"),
    "share": Text("share", "占比"),
    "count": Text("count", "次数"),
    "mean": Text("mean", "平均"),
    "longest": Text("longest", "最长"),
    "class": Text("class", "类别"),
    "kernel": Text("kernel", "内核"),
}


def trace_html(report: TraceReport, lang: str) -> str:
    """The page. Scripts and styles are allowed by their hashes; data stands in blocks that are never run."""
    words = {key: text.in_(lang) for key, text in _WORDS.items()}
    timelines = [timeline(summary) for summary in report.timelines if summary.rows]
    return (
        environment()
        .get_template("trace.html.j2")
        .render(
            lang="zh-CN" if lang == "zh" else "en",
            words=words,
            headline=report.headline.in_(lang),
            about=[about(file, lang) for file in report.files],
            sheets=sheets(report, lang),
            notes=list(notes(report, lang)),
            timelines=timelines,
            version=__version__,
            policy=_policy(),
            style=Markup(_style()),
            script=Markup(_script()),
            data=embedded(msgspec.json.encode({"timelines": timelines, "words": words}).decode()),
            report=embedded(to_json(report, lang)),
        )
    )


def timeline(summary: TraceSummary) -> dict[str, Any]:
    """What the page draws of one file: steps and kernels, times in ns after the window's start."""
    origin = min((step.start_ns for step in summary.steps), default=summary.start_ns)
    origin = min(origin, summary.start_ns)
    return {
        "file": summary.file,
        "end": max(summary.start_ns - origin + summary.window_ns, 1),
        "steps": [
            {
                "name": step.name,
                "phase": step.phase,
                "start": step.start_ns - origin,
                "host": step.host_ns,
                "gpu": [step.gpu_start_ns - origin, step.gpu_end_ns - origin]
                if step.gpu_start_ns is not None and step.gpu_end_ns is not None
                else None,
                "busy": ns(step.busy_ns),
                "families": step.families,
            }
            for step in summary.steps[:MAX_STEPS]
        ],
        "kernels": [
            [row.ns, row.share, row.count, row.mean_ns, row.max_ns, row.class_id, row.name[:300]]
            for row in summary.kernels[:MAX_KERNELS]
        ],
    }


@functools.cache
def _style() -> str:
    return asset("report.css") + asset("trace.css")


@functools.cache
def _script() -> str:
    return asset("trace.js")


@functools.cache
def _policy() -> str:
    sources = f"style-src '{hashed(_style())}'; script-src '{hashed(_script())}'"
    return f"default-src 'none'; {sources}; img-src data:; base-uri 'none'; form-action 'none'"
