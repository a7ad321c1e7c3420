"""How numbers are worded inside the sentences of evidence."""

from __future__ import annotations

from whystall.model.duration import plain, spoken
from whystall.model.text import Text


def span(seconds: float) -> Text:
    """A length of time to two digits, in the unit that a person would use: "31 s", "68 ms", "17 µs", "19.5 min"."""
    return Text(spoken(seconds, "en"), spoken(seconds, "zh"))


def size(count: float) -> Text:
    """A number of bytes to two digits: "98 MB", "3.1 GB"."""
    for unit, scale in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if count >= scale:
            return Text(f"{plain(count / scale, 2)} {unit}", f"{plain(count / scale, 2)} {unit}")
    return Text(f"{plain(count, 2)} B", f"{plain(count, 2)} B")
