"""What is looked at: an address or a folder."""

from __future__ import annotations

import msgspec


class Target(msgspec.Struct, frozen=True):
    """``text`` as the user gave it; ``kind`` is ``url`` or ``recording``."""

    text: str
    kind: str = "url"
