"""What a dialect's table holds: one entry a quantity, whatever names engines gave it over time."""

from __future__ import annotations

from typing import Literal

import msgspec

from whystall.model.text import Text

Part = Literal["value", "bucket", "sum", "count", "created"]
Kind = Literal["gauge", "counter", "histogram", "summary", "info"]


class Alias(msgspec.Struct, frozen=True):
    """Another name of a quantity: first and last version known to have it, "" where it is not bounded."""

    name: str
    since: str = ""
    until: str = ""


class MetricEntry(msgspec.Struct, frozen=True):
    """A quantity: canonical name (no prefix, no ``_total``), type, unit, and what it means with its caveat.

    ``prefix`` is what stands before the name on a page (``vllm:``, empty for ``http_*`` and ``process_*``). ``since``
    and ``until`` are the first and last sampled version of the canonical name; "" is "from the start" or "still".
    """

    name: str
    type: Kind
    unit: str
    text: Text
    aliases: tuple[Alias, ...] = ()
    since: str = ""
    until: str = ""
    prefix: str = "vllm:"


class Quantity(msgspec.Struct, frozen=True):
    """What one raw name on a page stands for. ``bucket`` carries an ``le`` label, ``created`` is a unix time."""

    name: str
    part: Part


def gauge(name: str, unit: str, en: str, zh: str, *aliases: Alias, since: str = "", until: str = "") -> MetricEntry:
    return MetricEntry(name, "gauge", unit, Text(en, zh), aliases, since, until)


def counter(name: str, unit: str, en: str, zh: str, *aliases: Alias, since: str = "", until: str = "") -> MetricEntry:
    return MetricEntry(name, "counter", unit, Text(en, zh), aliases, since, until)


def histogram(name: str, unit: str, en: str, zh: str, *aliases: Alias, since: str = "", until: str = "") -> MetricEntry:
    return MetricEntry(name, "histogram", unit, Text(en, zh), aliases, since, until)
