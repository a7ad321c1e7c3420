"""PagerDuty's Events API v2 (source: developer.pagerduty.com, "Send an alert event")."""

from __future__ import annotations

from datetime import UTC, datetime

from whystall.model.incident import Happening

from .message import Message
from .request import Post


def post(happening: Happening, said: Message, url: str, key: str) -> Post:
    """The event: ``trigger`` while it is open, ``resolve`` when it is over, of one ``dedup_key``."""
    incident = happening.incident
    event: dict[str, object] = {
        "routing_key": key,
        "event_action": "resolve" if incident.ended else "trigger",
        "dedup_key": incident.uid,
        "client": "whystall",
        "client_url": said.link,
        "payload": {
            "summary": said.title[:1024],
            "source": incident.target,
            "severity": "warning" if incident.state == "warning" else "critical",
            "timestamp": datetime.fromtimestamp(incident.since, UTC).isoformat(),
            "component": incident.engine_id,
            "class": incident.cause or incident.kind,
            "custom_details": {"causes": list(incident.causes), "first_step": incident.first_step.en},
        },
    }
    return Post(url, event)
