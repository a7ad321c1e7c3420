"""What is asked of a Ray cluster: where its dashboard is, which application, which pages."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

import msgspec

from whystall.errors import UsageError
from whystall.sources.live.address import Address

SCHEMES = ("ray+http", "ray+https")
_HINT = "write it as ray+http://host:8265, or …?application=llm, or …?sd=/tmp/ray/prom_metrics_service_discovery.json"
_TOKEN_LIMIT = 16 * 1024


class RayQuestion(msgspec.Struct, frozen=True):
    """``application`` and ``deployment`` choose replicas, "" for all; ``sd`` is a service discovery file, None to ask
    the dashboard for it."""

    address: Address
    application: str = ""
    deployment: str = ""
    sd: Path | None = None


def is_ray(target: str) -> bool:
    """Whether a target names a Ray cluster."""
    return target.partition("://")[0].lower() in SCHEMES


def parse_ray(target: str) -> RayQuestion:
    """``ray+http(s)://host:8265[?application=…&deployment=…&sd=FILE]``. Raises UsageError."""
    try:
        parts = urlsplit(target)
        given = dict(parse_qsl(parts.query, keep_blank_values=True, strict_parsing=bool(parts.query)))
    except ValueError as error:
        raise UsageError(f"the Ray target cannot be read: {error}", _HINT) from None
    address = Address.parse(parts._replace(scheme=parts.scheme.removeprefix("ray+"), query="").geturl())
    unknown = set(given) - {"application", "deployment", "sd"}
    if unknown:
        raise UsageError(f"a Ray target has no {sorted(unknown)[0][:40]!r}", _HINT)
    sd = Path(given["sd"]).expanduser() if given.get("sd") else None
    return RayQuestion(address, given.get("application", ""), given.get("deployment", ""), sd)


def ray_token(environment: Mapping[str, str] = os.environ) -> str:
    """The token that Ray's own programs would send, "" where ``RAY_AUTH_MODE`` is not ``token`` or there is none.

    As Ray looks for it: ``RAY_AUTH_TOKEN``, the file ``RAY_AUTH_TOKEN_PATH``, ``~/.ray/auth_token``.
    """
    if environment.get("RAY_AUTH_MODE", "").lower() != "token":
        return ""
    if token := environment.get("RAY_AUTH_TOKEN", "").strip():
        return token
    named = environment.get("RAY_AUTH_TOKEN_PATH", "")
    path = Path(named).expanduser() if named else Path.home() / ".ray" / "auth_token"
    try:
        with path.open("rb") as file:
            return file.read(_TOKEN_LIMIT).decode("ascii").strip()
    except (OSError, UnicodeDecodeError) as error:
        if named:
            raise UsageError(f"RAY_AUTH_TOKEN_PATH cannot be read: {error}", "give --token-file instead") from None
        return ""
