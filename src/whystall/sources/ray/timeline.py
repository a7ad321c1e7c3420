"""The timeline of a cluster's tasks, as Ray's dashboard gives it."""

from __future__ import annotations

from whystall.errors import AccessDenied, NotMetrics, Unavailable
from whystall.sources.live.access import Access
from whystall.sources.live.address import Address
from whystall.sources.live.http import Session

_LIMIT = 256 * 1024 * 1024
_OK = 200


async def read_timeline(address: Address, access: Access) -> bytes:
    """The body of ``/api/v0/tasks/timeline``, a Chrome trace. Raises what the session raises, AccessDenied for a wrong
    token, NotMetrics or Unavailable where there is no timeline."""
    async with Session(address, access) as session:
        answer = await session.get("/api/v0/tasks/timeline", _LIMIT)
    if answer.status in (401, 403):
        raise AccessDenied(
            f"{address.base} answered {answer.status}: it wants a token, or not this one",
            "give Ray's token with --token-file, or set RAY_AUTH_MODE=token and RAY_AUTH_TOKEN",
        )
    if answer.status >= 500:
        raise Unavailable(f"{address.base} answered {answer.status} for its timeline", "see Ray's dashboard.log")
    if answer.status != _OK or not answer.body.lstrip().startswith(b"["):
        raise NotMetrics(
            f"{address.base} has no timeline of tasks ({answer.status})", "give Ray's dashboard, port 8265"
        )
    return answer.body
