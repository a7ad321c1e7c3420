"""One POST to whoever is told: where to, what, and how its answer is read."""

from __future__ import annotations

from urllib.parse import urlsplit

import msgspec

from whystall.sources.live.address import Address


class Post(msgspec.Struct, frozen=True):
    """``url`` and ``key`` may hold secrets and are never shown; ``key`` goes as a bearer token where it is not empty."""

    url: str
    body: object
    key: str = ""

    def __repr__(self) -> str:
        return f"Post(to={self.host!r})"

    @property
    def host(self) -> str:
        """What may be shown of it."""
        return urlsplit(self.url).hostname or ""

    @property
    def address(self) -> Address:
        """The server alone: the path of a chat's webhook is its secret."""
        parts = urlsplit(self.url)
        port = parts.port or (443 if parts.scheme == "https" else 80)
        return Address(parts.scheme, parts.hostname or "", port)

    @property
    def path(self) -> str:
        """The path with its query."""
        parts = urlsplit(self.url)
        return (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
