"""What is said of an incident, whoever is told."""

from __future__ import annotations

import msgspec

from whystall.model.health import HealthReport
from whystall.model.incident import Happening
from whystall.model.text import Text
from whystall.reports.health import health_lines, health_title
from whystall.reports.incident_line import lasted, word
from whystall.reports.printable import clean

LONGEST = 800  # characters of one line: pagers cut what is longer anyway
_SINCE = Text("Lasted {time}", "历时 {time}")
_FIRST = Text("First step: {text}", "第一步：{text}")


class Message(msgspec.Struct, frozen=True):
    """``title`` says what and where in one line, ``lines`` what to do; nothing in them is markup. ``link`` may be empty."""

    title: str
    lines: tuple[str, ...]
    link: str = ""

    @property
    def text(self) -> str:
        """All of it, for receivers without markup."""
        return "\n".join((self.title, *self.lines, *([self.link] if self.link else ())))


def message(happening: Happening, lang: str, external_url: str = "") -> Message:
    """The message of what happened."""
    incident = happening.incident
    title = f"[{word(happening).in_(lang)}] {incident.engine_id}: {incident.headline.in_(lang)}"
    lines = []
    if incident.recovered is not None:
        lines.append(_SINCE.format(time=lasted(incident.recovered - incident.since)).in_(lang))
    elif incident.first_step.en:
        lines.append(_FIRST.format(text=incident.first_step).in_(lang))
    link = f"{external_url.rstrip('/')}/#/incident/{incident.id}" if external_url else ""
    return Message(_cut(title), tuple(_cut(line) for line in lines), link)


def report_message(report: HealthReport, lang: str, external_url: str = "") -> Message:
    """The message of a health report."""
    lines = tuple(_cut(line) for line in health_lines(report, lang))
    return Message(_cut(health_title(report).in_(lang)), lines, f"{external_url.rstrip('/')}/" if external_url else "")


def _cut(text: str) -> str:
    text = clean(text)
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"
