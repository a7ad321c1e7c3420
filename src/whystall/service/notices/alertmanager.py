"""Alertmanager's API v2: POST /api/v2/alerts (source: its openapi.yaml, ``postableAlerts``)."""

from __future__ import annotations

from datetime import UTC, datetime

from whystall.model.incident import Happening

from .message import Message
from .request import Post

# An alert that nobody repeats is over after this; we repeat an open one every minute.
EXPIRES_S = 300.0
REPEAT_S = 60.0


def post(happening: Happening, said: Message, url: str, key: str, now: float) -> Post:
    """The alert, or its end. Labels are the identity and must not change: what changes is an annotation."""
    incident = happening.incident
    alert = {
        "labels": {
            "alertname": "WhystallIncident",
            "target": incident.target,
            "engine": incident.engine_id,
            "model": incident.engine.model,
            "incident": incident.uid[:12],
            "severity": "warning" if incident.state == "warning" else "critical",
        },
        "annotations": {
            "summary": said.title,
            "description": "\n".join(said.lines),
            "cause": incident.cause,
            "causes": " ".join(incident.causes),
            "kind": incident.kind,
        },
        "startsAt": _time(min(incident.since, now)),
        # A server's clock may be ahead of ours: an end in the future would not end it.
        "endsAt": _time(min(incident.recovered, now) if incident.recovered is not None else now + EXPIRES_S),
        "generatorURL": said.link,
    }
    return Post(f"{url.rstrip('/')}/api/v2/alerts", [alert], key)


def _time(t: float) -> str:
    return datetime.fromtimestamp(t, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
