"""The address of a server as a person types it."""

from __future__ import annotations

import ipaddress
import re
import socket
from pathlib import Path
from urllib.parse import urlsplit

import msgspec
import psutil

from whystall.errors import UsageError

_SCHEME = re.compile(r"^[a-zA-Z][a-zA-Z0-9+.-]*://")
_NO_HOST = re.compile(r"[\s\x00-\x20<>\"'`{}|\\^]")
_ENDINGS = ("/metrics", "/v1/models", "/v1", "/health")
_HINT = "give it as http://host:8000, or a recording folder"


class Address(msgspec.Struct, frozen=True):
    """Where a server listens. ``base`` has no path of an endpoint, no credentials and no slash at its end.

    ``query`` is kept for ``/metrics`` alone. ``user`` and ``password`` came with the address and are never shown.
    ``port_given`` is False where the port is the scheme's own.
    """

    scheme: str
    host: str
    port: int
    prefix: str = ""
    query: str = ""
    user: str = ""
    password: str = ""
    port_given: bool = True

    @property
    def base(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{host}:{self.port}{self.prefix}"

    def url(self, path: str) -> str:
        query = f"?{self.query}" if self.query and path == "/metrics" else ""
        return f"{self.base}{path}{query}"

    def __repr__(self) -> str:
        return f"Address({self.base!r})"

    @property
    def secrets(self) -> tuple[str, ...]:
        """What must never be shown: the password, and the query's values."""
        values = [part.partition("=")[2] for part in self.query.split("&")]
        return tuple(text for text in (self.password, *values) if len(text) > 2)

    @classmethod
    def parse(cls, text: str) -> Address:
        """Accepts ``host:port``, ``:port``, an http(s) URL, with or without ``/metrics``. Raises UsageError."""
        given = text.strip()
        if given.startswith(":"):
            given = f"localhost{given}"
        if not _SCHEME.match(given):
            given = f"http://{given}"
        try:
            parts = urlsplit(given)
            port = parts.port
        except ValueError as error:
            raise UsageError(f"the server's address cannot be read: {error}", _HINT) from None
        if parts.scheme not in ("http", "https"):
            raise UsageError(f"{parts.scheme}:// is not an address of a server that is read over HTTP", _HINT)
        if not parts.hostname:
            raise UsageError("the server's address names no host", _HINT)
        if _NO_HOST.search(parts.hostname):
            raise UsageError(f"{parts.hostname!r} is not a host's name", _HINT)
        return cls(
            scheme=parts.scheme,
            host=parts.hostname,
            port=port if port is not None else (443 if parts.scheme == "https" else 80),
            prefix=_prefix(parts.path),
            query=parts.query,
            user=parts.username or "",
            password=parts.password or "",
            port_given=port is not None,
        )


def _prefix(path: str) -> str:
    path = path.rstrip("/")
    for ending in _ENDINGS:
        if path.endswith(ending):
            return path.removesuffix(ending)
    return path


def looks_like_a_path(text: str) -> bool:
    """Whether a person who typed ``text`` meant a file or folder, there or not, rather than a server."""
    return text.startswith((".", "/", "~")) or ("/" in text and ":" not in text)


def is_there(text: str) -> bool:
    """Whether ``text`` names a file or folder that is there. An address, however long its query, is just none."""
    try:
        return Path(text).exists()
    except (OSError, ValueError):  # too long a name for a file, a loop of links, a folder that may not be searched
        return False


def is_this_host(address: Address) -> bool:
    """Whether the server is on this machine: a loopback address, or one of this machine's own."""
    found = _addresses(address)
    if not found:
        return False
    own = _own_addresses()
    return all(ip.is_loopback or str(ip) in own for ip in found)


def _addresses(address: Address) -> list[ipaddress.IPv4Address | ipaddress.IPv6Address]:
    try:
        infos = socket.getaddrinfo(address.host, address.port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        return []
    return [ipaddress.ip_address(str(info[4][0]).partition("%")[0]) for info in infos]


def _own_addresses() -> set[str]:
    nics = psutil.net_if_addrs().values()
    return {nic.address.partition("%")[0] for group in nics for nic in group}
