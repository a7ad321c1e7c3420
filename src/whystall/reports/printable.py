"""Text from outside made safe to print: no control characters, no direction overrides, bounded."""

from __future__ import annotations

import re

# C0 and C1 controls (ANSI escapes start with one), DEL, line and paragraph separators, zero-width and direction marks:
# each could move the cursor, recolour the screen or show words in another order than they are written.
_HOSTILE = re.compile("[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff]")
LONGEST = 2000  # characters of one text; a label longer than this is no name


def clean(text: str) -> str:
    """``text`` on one line, each hostile character replaced by a visible escape, at most ``LONGEST`` characters."""
    flat = _HOSTILE.sub(_escape, text)
    return flat if len(flat) <= LONGEST else flat[: LONGEST - 1] + "…"


def _escape(match: re.Match[str]) -> str:
    char = match.group()
    if char in "\t\n\r":
        return " "
    code = ord(char)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"
