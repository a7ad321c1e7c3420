"""Questions to a Prometheus' query API, in pieces that it and we can hold."""

from __future__ import annotations

from urllib.parse import quote

import msgspec

from whystall.errors import AccessDenied, NotMetrics, TooLarge, Unavailable, UsageError
from whystall.sources.live.http import Answer, Session

from .matrix import Answered, Samples, Series

# A piece holds some hundred series of each server for this long at first, twice as long after a small answer, and half as
# long where a Prometheus finds it too much. Labels come with each piece: longer ones are cheaper for both.
PIECE_S = 300.0
_LEAST_PIECE_S, _MOST_PIECE_S = 15.0, 7200.0
_SMALL_BYTES = 8 * 1024 * 1024
_DECODER = msgspec.json.Decoder(Answered)


class Asking:
    """One Prometheus that is asked. ``answered_bytes`` counts what came."""

    def __init__(self, session: Session) -> None:
        self.answered_bytes = 0
        self._session = session
        self._piece_s = PIECE_S

    async def whole(self, selector: str, begin: float, end: float, samples: Samples) -> None:
        """All raw samples of ``selector`` in that time. Raises what :meth:`series` does."""
        while begin < end - 1e-3:
            begin = await self._piece(selector, begin, end, samples)

    async def _piece(self, selector: str, begin: float, end: float, samples: Samples) -> float:
        """Read one piece from ``begin`` on; where it ends."""
        while True:
            piece = min(self._piece_s, end - begin)
            query = f"{selector}[{max(round(piece * 1000), 1)}ms]"
            before = self.answered_bytes
            try:
                samples.gather(await self.series(query, begin + piece))
            except TooLarge:
                if piece <= _LEAST_PIECE_S:
                    raise
                self._piece_s = piece / 2
            else:
                if self.answered_bytes - before < _SMALL_BYTES and piece == self._piece_s:
                    self._piece_s = min(2 * piece, _MOST_PIECE_S)
                return begin + piece

    async def series(self, query: str, at: float, kind: str = "matrix") -> list[Series]:
        """The answer to ``query`` at ``at`` (unix seconds).

        Raises AccessDenied, NotMetrics, TooLarge, Unavailable, UsageError for a query that Prometheus cannot read, and what
        the session raises.
        """
        return await self._asked(f"/api/v1/query?query={quote(query, safe='')}&time={at:.3f}", kind)

    async def curve(self, query: str, begin: float, end: float, step_s: float) -> list[Series]:
        """The answer to ``query`` at every ``step_s`` from ``begin`` to ``end``. Raises as :meth:`series`."""
        path = f"/api/v1/query_range?query={quote(query, safe='')}&start={begin:.3f}&end={end:.3f}&step={step_s:g}"
        return await self._asked(path, "matrix")

    async def _asked(self, path: str, kind: str) -> list[Series]:
        answer = await self._session.get(path)
        self.answered_bytes += len(answer.body)
        where = self._session.address.base
        if answer.status in (401, 403):
            raise AccessDenied(
                f"{where} answered {answer.status}: it wants credentials, or not these",
                "give a token with --token-file or WHYSTALL_TOKEN, or a header with --header",
            )
        told = _decoded(answer, where)
        if told.status == "success" and told.data is not None:
            if told.data.result_type != kind:
                raise NotMetrics(f"{where} answered with a {told.data.result_type[:20]} where samples were asked for")
            return told.data.result
        raise _refused(told, answer, where)


def _decoded(answer: Answer, where: str) -> Answered:
    try:
        return _DECODER.decode(answer.body)
    except (msgspec.DecodeError, RecursionError) as error:
        if answer.status >= 500:
            raise Unavailable(f"{where} answered {answer.status}", "it is overloaded or not ready; try again") from None
        what = "half an answer" if "truncated" in str(error) else "no answer of a Prometheus"
        raise NotMetrics(
            f"{where} gave {what} ({answer.status})", "check the address and its path prefix, and proxies between"
        ) from None


def _refused(told: Answered, answer: Answer, where: str) -> Exception:
    reason = told.error[:200] or f"status {answer.status}"
    if "too many samples" in reason or "too many points" in reason:
        return TooLarge(f"{where} holds more samples than it answers with: {reason}", "narrow the selector")
    if told.error_type == "bad_data":
        return UsageError(f"{where} cannot read the selector: {reason}", "it is put into PromQL as it is given")
    return Unavailable(f"{where} refused the query: {reason}", "look at the Prometheus itself; try again")
