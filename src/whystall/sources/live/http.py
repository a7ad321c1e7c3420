"""Reading a server over HTTP: one session, bounded answers, and every failure one of ours with a hint.

Nothing that is raised here repeats a token, a header's value or a password.
"""

from __future__ import annotations

import asyncio
import base64
import os
import ssl
import time
from types import TracebackType

import aiohttp
import msgspec
from yarl import URL

from whystall.errors import (
    AccessDenied,
    NotMetrics,
    TimedOut,
    TlsFailed,
    Unavailable,
    Unreachable,
    UsageError,
    WhystallError,
)

from .access import Access, tls_context
from .address import Address
from .body import LIMIT_BYTES, read_body

_REDIRECTS = (301, 302, 303, 307, 308)
_MAX_REDIRECTS = 3
_VLLM_PORT = 8000


class Answer(msgspec.Struct, frozen=True):
    """What a server answered. ``received`` is ``time.monotonic()`` when its headers came."""

    status: int
    headers: dict[str, str]  # names in lower case
    body: bytes
    received: float


class Session:
    """Reads one server. An async context manager; raises :class:`Unavailable` and :class:`InputError` kinds."""

    def __init__(self, address: Address, access: Access = Access()) -> None:  # noqa: B008  a frozen struct
        access.check()
        self.address = address
        self.access = access
        self._headers = _request_headers(address, access)
        self._client: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> Session:
        tls = tls_context(self.access) if self.address.scheme == "https" else False
        self._client = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(ssl=tls, limit=8),
            headers=self._headers,
            timeout=aiohttp.ClientTimeout(total=self.access.timeout_s),
            cookie_jar=aiohttp.DummyCookieJar(),
            auto_decompress=False,
            trust_env=False,  # a proxy set for other programs must not see the server's pages
        )
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._client is not None:
            await self._client.close()

    async def metrics(self) -> Answer:
        """The ``/metrics`` page; raises where the answer is not one (see :func:`require_metrics`)."""
        answer = await self.get("/metrics")
        require_metrics(answer, self.address)
        return answer

    async def get(self, path: str, limit: int = LIMIT_BYTES) -> Answer:
        """Whatever ``path`` answers, of any status."""
        try:
            url = URL(self.address.url(path), encoded=True)
            for _ in range(_MAX_REDIRECTS):
                answer, target = await self._once(url, limit)
                if target is None:
                    return answer
                url = target
        except (aiohttp.ClientError, TimeoutError, OSError, ValueError) as error:
            raise self._named(error) from None
        raise NotMetrics(f"{self.address.base} redirects in a circle", "give the address that it redirects to")

    async def post(
        self, path: str, body: object = None, timeout_s: float | None = None, limit: int = LIMIT_BYTES
    ) -> Answer:
        """Send ``body`` (JSON, or none) to ``path`` once; no redirect is followed. For what the user has allowed only."""
        return await self.send("POST", path, body, timeout_s=timeout_s, limit=limit)

    async def send(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        kind: str = "",
        timeout_s: float | None = None,
        limit: int = LIMIT_BYTES,
    ) -> Answer:
        """As :meth:`post` by any ``method``; ``kind`` is the body's media type where it is another kind of JSON, or bytes."""
        assert self._client is not None, "enter the session first"
        timeout = aiohttp.ClientTimeout(total=timeout_s or self.access.timeout_s)
        more = {"Content-Type": kind} if kind else None
        try:
            url = URL(self.address.url(path), encoded=True)
            sending = self._client.request(
                method,
                url,
                json=None if isinstance(body, bytes) else body,
                data=body if isinstance(body, bytes) else None,
                headers=more,
                timeout=timeout,
                allow_redirects=False,
            )
            async with sending as response:
                received = time.monotonic()
                name, encoding = self.address.base, response.headers.get("Content-Encoding", "")
                answered = await read_body(response.content.iter_any(), encoding, name, limit)
                headers = {key.lower(): value for key, value in response.headers.items()}
                return Answer(response.status, headers, answered, received)
        except (aiohttp.ClientError, TimeoutError, OSError, ValueError) as error:
            raise self._named(error) from None

    async def _once(self, url: URL, limit: int) -> tuple[Answer, URL | None]:
        assert self._client is not None, "enter the session first"
        async with self._client.get(url, allow_redirects=False) as response:
            received = time.monotonic()
            if response.status in _REDIRECTS:
                return Answer(response.status, {}, b"", received), self._redirected(url, response)
            name = self.address.url(url.path).split("?")[0] if url.host == self.address.host else self.address.base
            encoding = response.headers.get("Content-Encoding", "")
            body = await read_body(response.content.iter_any(), encoding, name, limit)
            headers = {key.lower(): value for key, value in response.headers.items()}
            return Answer(response.status, headers, body, received), None

    def _redirected(self, url: URL, response: aiohttp.ClientResponse) -> URL:
        try:
            target = url.join(URL(response.headers.get("Location", "")))
        except ValueError:
            target = URL()
        same = target.host == url.host and (
            (target.scheme, target.port) == (url.scheme, url.port) or (url.scheme, target.scheme) == ("http", "https")
        )
        if not same:
            raise NotMetrics(
                f"{self.address.base} redirects to {target.host or 'nowhere'}, another server; it was not followed",
                "give the address of the server itself; a log-in page in front needs --header or --token-file",
            )
        return target

    def _named(self, error: Exception) -> WhystallError:
        where = self.address.base
        if isinstance(error, aiohttp.ClientConnectorCertificateError | aiohttp.ClientSSLError | ssl.SSLError):
            return _tls_failure(error, where)
        if isinstance(error, TimeoutError | asyncio.TimeoutError):
            return TimedOut(
                f"{where} gave no whole answer within {self.access.timeout_s:g} s",
                "a front end that is stalled answers late: try --timeout 60; else check the address and the network",
            )
        if isinstance(error, aiohttp.ClientConnectorDNSError):
            return Unreachable(f"the name of {where} is not known", _unknown_name(self.address))
        if isinstance(error, aiohttp.ClientConnectorError):
            number = error.os_error.errno  # the event loop's own text names its call instead of the reason
            reason = os.strerror(number) if number and number > 0 else error.os_error.strerror or "no connection"
            return Unreachable(f"nothing answers at {where}: {reason}", _nobody_there(self.address))
        if isinstance(error, ValueError) and not isinstance(error, aiohttp.ClientResponseError):  # InvalidURL is one
            return UsageError(f"{where} is not an address", "write it as http://host:8000")
        other = "it wants https://, " if self.address.scheme == "http" else ""
        return Unreachable(
            f"{where} broke off its answer ({type(error).__name__})",
            f"the server or a proxy closed the connection, {other}or it does not speak HTTP; look at its log",
        )


def _unknown_name(address: Address) -> str:
    bare = not address.port_given and "." not in address.host  # a folder or a name of whystall.toml, mistyped
    also = "; no file, no folder and no target of whystall.toml has that name either" if bare else ""
    return f"check the spelling and the DNS of this host{also}"


def _nobody_there(address: Address) -> str:
    port = "its port" if address.port_given else f"its port (none was given; vLLM's own is {_VLLM_PORT})"
    return f"check that the server runs, {port}, and firewalls between"


def _request_headers(address: Address, access: Access) -> dict[str, str]:
    # Not compressed: packing the page would cost the server more CPU than all else a scrape asks of it.
    headers = {"Accept": "text/plain;version=0.0.4, */*;q=0.1", "Accept-Encoding": "identity", "User-Agent": "whystall"}
    if address.user or address.password:
        pair = f"{address.user}:{address.password}".encode()
        headers["Authorization"] = f"Basic {base64.b64encode(pair).decode()}"
    if access.token:
        headers["Authorization"] = f"Bearer {access.token}"
    return headers | dict(access.headers)


def _tls_failure(error: Exception, where: str) -> TlsFailed:
    cause = getattr(error, "certificate_error", None) or getattr(error, "os_error", None) or error
    reason = getattr(cause, "verify_message", "") or getattr(cause, "reason", "") or type(cause).__name__
    hint = "name the authority that signed it with --ca; for a client certificate give --cert and --key"
    if "WRONG_VERSION" in str(reason) or "UNKNOWN_PROTOCOL" in str(reason):
        hint = "the server seems to speak plain HTTP: write http:// instead of https://"
    return TlsFailed(f"no trusted connection to {where}: {reason}", hint)


def require_metrics(answer: Answer, address: Address) -> None:
    """Raises AccessDenied, NotMetrics or Unavailable where ``answer`` cannot be a page of metrics."""
    where = address.url("/metrics").split("?")[0]
    if answer.status in (401, 403):
        raise AccessDenied(
            f"{where} answered {answer.status}: it wants credentials, or not these",
            "give a token with --token-file or WHYSTALL_TOKEN, or what a gateway asks for with --header",
        )
    if answer.status == 404:
        raise NotMetrics(f"{where} does not exist (404)", "check the port; a gateway may serve it elsewhere, or not")
    if answer.status >= 500 or answer.status in (408, 410, 425, 429):
        raise Unavailable(f"{where} answered {answer.status}", "the server is not ready or overloaded; see its log")
    if answer.status != 200:
        raise NotMetrics(f"{where} answered {answer.status}, no page", "check the address")
    start = answer.body[:256].lstrip()
    if not start:
        raise NotMetrics(f"{where} is an empty page", "is it started with its metrics switched off?")
    if start.startswith((b"<", b"{", b"[")) or "text/html" in answer.headers.get("content-type", ""):
        raise NotMetrics(f"{where} is not a page of metrics", "check the port; this looks like another program")
