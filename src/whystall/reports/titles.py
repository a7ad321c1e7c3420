"""What a cause is called."""

from __future__ import annotations

from .printable import clean


def cause_title(id: str, lang: str) -> str:
    """The cause's title in ``lang``; its id in words where the catalogue lacks it (a newer diagnosis read back)."""
    return clean(id).replace("_", " ")
