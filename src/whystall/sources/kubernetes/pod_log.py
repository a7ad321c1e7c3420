"""A container's log followed through the API server: each time what came since the time before."""

from __future__ import annotations

from urllib.parse import quote

from whystall.sources.live.http import Session

from .pods import Pod, moment

_FIRST_LINES = 2_000  # a start writes some hundred, and the window is minutes
_LIMIT_BYTES = 1024 * 1024
_OK = 200


class PodLog:
    """The log of one pod's engine. The API gives whole seconds anew, so each line is known by its own time stamp."""

    def __init__(self, way: str, pod: Pod) -> None:
        self._path = f"{way}/log?container={quote(pod.container, safe='')}&timestamps=true&limitBytes={_LIMIT_BYTES}"
        self._last = ("", "")

    async def more(self, session: Session) -> tuple[bytes, float | None]:
        """The new lines without their stamps, and when the last was written (unix seconds). Raises what the session does.

        An answer that is no log (the container is being made, or may not be read) has no lines.
        """
        since = f"&sinceTime={self._last[0]}Z" if self._last[0] else f"&tailLines={_FIRST_LINES}"
        answer = await session.get(self._path + since, 2 * _LIMIT_BYTES)
        lines = answer.body.split(b"\n") if answer.status == _OK else []
        found = []
        for line in lines:
            stamp, blank, text = line.partition(b" ")
            at = _key(stamp)
            if blank and at > self._last:
                self._last = at
                found.append(text)
        if not found:
            return b"", None
        return b"\n".join(found) + b"\n", moment(f"{self._last[0]}+00:00")


def _key(stamp: bytes) -> tuple[str, str]:
    """Seconds and fraction of a stamp, so that they sort: Go leaves zeros at the end out. ("", "") for none."""
    seconds, _, fraction = stamp[:40].decode("ascii", "replace").removesuffix("Z").partition(".")
    if moment(seconds) is None or not (fraction.isdigit() or not fraction):
        return "", ""
    return seconds, fraction.ljust(9, "0")
