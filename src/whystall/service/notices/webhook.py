"""A generic webhook: the happening as JSON of schema ``whystall.happening/1``, with the message beside it."""

from __future__ import annotations

import msgspec
from msgspec.structs import replace

from whystall.model.health import HealthReport
from whystall.model.incident import Happening
from whystall.reports.json import to_json

from .message import Message
from .request import Post


def post_report(report: HealthReport, said: Message, url: str, key: str, lang: str) -> Post:
    """A health report, of schema ``whystall.health/1``."""
    return Post(url, {**msgspec.json.decode(to_json(report, lang)), "title": said.title, "text": said.text}, key)


def post(happening: Happening, said: Message, url: str, key: str, lang: str) -> Post:
    """The body without the diagnosis: its size is no receiver's business, and ``link`` leads to it."""
    short = replace(happening, incident=replace(happening.incident, diagnosis=None))
    body = msgspec.json.decode(to_json(short, lang))
    return Post(url, {**body, "title": said.title, "text": said.text, "link": said.link}, key)
