"""How numbers are worded inside the sentences of evidence."""

from __future__ import annotations

from whystall.model.text import Text, plain


def span(seconds: float) -> Text:
    """A length of time to two digits, in the unit that a person would use: "31 s", "68 ms", "17 µs"."""
    if seconds >= 1 or seconds == 0:
        return Text(f"{plain(seconds, 2)} s", f"{plain(seconds, 2)} 秒")
    if seconds >= 1e-3:
        return Text(f"{plain(1e3 * seconds, 2)} ms", f"{plain(1e3 * seconds, 2)} 毫秒")
    return Text(f"{plain(1e6 * seconds, 2)} µs", f"{plain(1e6 * seconds, 2)} 微秒")


def size(count: float) -> Text:
    """A number of bytes to two digits: "98 MB", "3.1 GB"."""
    for unit, scale in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if count >= scale:
            return Text(f"{plain(count / scale, 2)} {unit}", f"{plain(count / scale, 2)} {unit}")
    return Text(f"{plain(count, 2)} B", f"{plain(count, 2)} B")
