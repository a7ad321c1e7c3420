"""What a server asks of its readers: headers, a token, certificates; and how long we wait."""

from __future__ import annotations

import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from whystall.errors import UsageError

_PLAIN = "write the bare token, or 'Name: value', in one line"


class Access(msgspec.Struct, frozen=True):
    """How a server is reached. ``timeout_s`` bounds one answer from the connection to its last byte."""

    headers: tuple[tuple[str, str], ...] = ()
    token: str = ""
    ca: Path | None = None
    certificate: Path | None = None
    key: Path | None = None
    timeout_s: float = 10.0

    def __repr__(self) -> str:
        names = ", ".join(name for name, _ in self.headers)
        return f"Access(headers=[{names}], token={'set' if self.token else 'none'}, timeout_s={self.timeout_s})"

    @property
    def secrets(self) -> tuple[str, ...]:
        """The values that must never be shown."""
        return tuple(text for text in (self.token, *(value for _, value in self.headers)) if text)

    def or_token(self, token: str) -> Access:
        """The same with ``token`` where there is none."""
        return self if self.token else msgspec.structs.replace(self, token=token)

    def check(self) -> None:
        """Raises UsageError where a header could not be sent; a line break would add headers of its own."""
        for text in (self.token, *(part for pair in self.headers for part in pair)):
            if any(ord(ch) < 32 or ord(ch) == 127 for ch in text):
                raise UsageError("a header or the token holds a line break or another control character", _PLAIN)


def tls_context(access: Access) -> ssl.SSLContext:
    """Certificates are always checked; ``access.ca`` adds one to trust. Raises UsageError."""
    context = ssl.create_default_context()
    if access.ca is not None:
        with _loading("--ca", access.ca):
            context.load_verify_locations(cafile=str(access.ca))
    if access.certificate is not None:
        with _loading("--cert", access.certificate):
            context.load_cert_chain(access.certificate, access.key, password=_no_password)
    return context


@contextmanager
def _loading(option: str, path: Path) -> Iterator[None]:
    try:
        yield
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or getattr(error, "reason", None) or str(error)
        raise UsageError(
            f"{option} {path} cannot be loaded: {reason}",
            "--ca and --cert take PEM files, --key the private key without a password",
        ) from None


def _no_password() -> bytes:
    # Without this OpenSSL would ask on the terminal.
    raise ValueError("the private key is protected by a password")
