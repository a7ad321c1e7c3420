"""One line for each thing that becomes of an incident, for a terminal or a pager."""

from __future__ import annotations

from datetime import UTC, datetime

from whystall.model.incident import Happening, Incident
from whystall.model.text import Text

from .printable import clean

_WORDS = {
    "opened": Text("OPENED", "已触发"),
    "updated": Text("CHANGED", "有变化"),
    "recovered": Text("RECOVERED", "已恢复"),
    "warning": Text("WARNING", "预警"),
    "left": Text("LEFT", "已离开"),
    "averted": Text("PASSED", "已解除"),
}
_DRY_RUN = Text("; dry run of a fix: {text}", "；修复试算：{text}")
_SINCE = Text("since {time}", "始于 {time}")
_LASTED = Text("after {time}", "历时 {time}")


def word(happening: Happening) -> Text:
    """What became of it, in one word."""
    incident = happening.incident
    if incident.state == "warning":
        return _WORDS["warning"]
    if incident.left:
        return _WORDS["left"]
    if happening.what == "recovered" and not any(step.id == "opened" for step in incident.steps):
        return _WORDS["averted"]
    return _WORDS[happening.what]


def incident_line(happening: Happening, lang: str) -> str:
    """``2026-11-30 12:00:05 UTC OPENED #1 prod: KV cache too small … (since 11:59:50)``, on the server's clock.

    With its day and zone: it is read in logs of a week and in chats of several countries.
    """
    incident = happening.incident
    time = datetime.fromtimestamp(incident.updated, UTC)
    told = f"{time:%F %T} UTC {word(happening).in_(lang)} #{incident.id} {incident.engine_id}"
    silenced = f" [{incident.silenced}]" if incident.silenced else ""
    foreseen = incident.state == "warning" and incident.suggestion is not None
    dry_run = _DRY_RUN.format(text=incident.first_step).in_(lang) if foreseen else ""
    return clean(f"{told}: {incident.headline.in_(lang)} ({_when(incident).in_(lang)}){silenced}{dry_run}")


def _when(incident: Incident) -> Text:
    if incident.recovered is not None:
        return _LASTED.format(time=lasted(incident.recovered - incident.since))
    since, told = (datetime.fromtimestamp(t, UTC) for t in (incident.since, incident.updated))
    return _SINCE.format(time=f"{since:%T}" if since.date() == told.date() else f"{since:%F %T}")


def lasted(seconds: float) -> Text:
    """How long something took, for people."""
    if seconds < 120:
        return Text(f"{seconds:.0f} s", f"{seconds:.0f} 秒")
    if seconds < 7200:
        return Text(f"{seconds / 60:.0f} min", f"{seconds / 60:.0f} 分钟")
    return Text(f"{seconds / 3600:.1f} h", f"{seconds / 3600:.1f} 小时")
