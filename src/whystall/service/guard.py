"""Who may ask: this host alone, or who has the token; and what a browser may load."""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
from collections.abc import Awaitable, Callable

from aiohttp import web

from whystall.errors import UsageError

# Health is for probes, which have no token; the session is where a browser brings it.
OPEN_PATHS = frozenset(("/healthz", "/readyz", "/api/session"))
COOKIE = "whystall_session"
HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; "
        "connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class Guard:
    """Checks every request. Without a token only requests to a loopback name are answered.

    The name is checked because a page elsewhere may bind its own name to 127.0.0.1 and ask us as if it were ours.
    """

    def __init__(self, token: str = "", open_to: frozenset[str] = frozenset()) -> None:
        self._token = token
        self._open = OPEN_PATHS | open_to

    @web.middleware
    async def middleware(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Answer 401 or 403 where the request may not be answered."""
        refused = self._refusal(request)
        response: web.StreamResponse
        if refused is not None:
            response = refused
        else:
            try:
                response = await handler(request)
            except web.HTTPException as error:
                response = web.json_response({"error": error.reason}, status=error.status)
        if not response.prepared:
            response.headers.update({name: value for name, value in HEADERS.items() if name not in response.headers})
        return response

    def _refusal(self, request: web.Request) -> web.Response | None:
        if request.path in self._open:
            return None
        if not self._token:
            if is_loopback(_host(request)):
                return None
            return web.json_response({"error": "this name is not ours; ask 127.0.0.1 or localhost"}, status=403)
        if self._has_token(request):
            return None
        return web.json_response(
            {"error": "a bearer token is needed"}, status=401, headers={"WWW-Authenticate": "Bearer"}
        )

    def _has_token(self, request: web.Request) -> bool:
        scheme, _, given = request.headers.get("Authorization", "").partition(" ")
        if scheme.lower() == "bearer" and _same(given.strip(), self._token):
            return True
        return _same(request.cookies.get(COOKIE, ""), self.session)

    def knows(self, token: str) -> bool:
        """Whether ``token`` is the one."""
        return bool(self._token) and _same(token, self._token)

    @property
    def session(self) -> str:
        """What a browser keeps in place of the token: it opens this service and nothing else."""
        return hmac.new(self._token.encode(), b"whystall session", hashlib.sha256).hexdigest()


def require_token(host: str, token: str) -> None:
    """Raises UsageError where others than this host could ask without a token."""
    if not token and not is_loopback(host):
        raise UsageError(
            f"{host} is not this host alone, so a token is needed",
            "Give one with WHYSTALL_LISTEN_TOKEN or --listen-token-file, or listen on 127.0.0.1.",
        )


def is_loopback(host: str) -> bool:
    """Whether ``host`` is a name or an address of this host alone."""
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def _host(request: web.Request) -> str:
    host = request.headers.get("Host", "")
    return host.partition("]")[0] + "]" if host.startswith("[") else host.partition(":")[0]


def _same(one: str, other: str) -> bool:
    return hmac.compare_digest(one.encode("utf-8", "surrogatepass"), other.encode())
