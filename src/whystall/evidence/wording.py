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
