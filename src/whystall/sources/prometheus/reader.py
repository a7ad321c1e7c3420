"""Asking a Prometheus for raw samples, in pieces that it and we can hold."""

from __future__ import annotations

import time
from collections.abc import Iterable
from urllib.parse import quote

import msgspec

from whystall.errors import AccessDenied, NotMetrics, TooLarge, TooLittleData, Unavailable, UsageError
from whystall.model.recording import Recording, SeriesTable
from whystall.model.target import Target
from whystall.sources.hardware.columns import gpu_of, host_of
from whystall.sources.hardware.dcgm import xid_lines
from whystall.sources.live.access import Access
from whystall.sources.live.http import Answer, Session

from .hardware import beside, place_of, selectors
from .matrix import Answered, Samples, Series, gather, servers
from .question import Question

# A piece holds some hundred series of a server for this long; a Prometheus that finds it too much is asked for less.
PIECE_S = 300.0
_LEAST_PIECE_S = 15.0
_LATELY_S = 600
_DECODER = msgspec.json.Decoder(Answered)


async def read_prometheus(question: Question, seconds: float, access: Access, target: str) -> dict[str, Recording]:
    """The last ``seconds`` before the question's end: instance of an engine -> its recording.

    A range selector gives the samples as they were scraped, with their own times: nothing is interpolated. Raises what
    the session raises, :class:`~whystall.errors.UsageError` for a selector that Prometheus refuses and
    :class:`~whystall.errors.TooLittleData` where no engine's series are there.
    """
    end = question.end if question.end is not None else time.time()
    samples: Samples = {}
    hardware: Samples = {}
    async with Session(question.address, access) as session:
        await _whole(session, question.selector(), end - seconds, end, samples)
        found = {name: table for name, table in servers(samples).items() if _is_engine(table)}
        places = {name: place_of(name, table) for name, table in found.items()}
        for selector in selectors(places.values()) if found else ():
            await _whole(session, selector, end - seconds, end, hardware)
    if not found:
        raise TooLittleData(
            f"{question.address.base} has no series of a vLLM server in those {seconds:.0f} s"
            + (f" under {{{question.matchers}}}" if question.matchers else ""),
            "check the selector and the time (--for, &end=); vLLM's names begin with vllm:",
        )
    return {
        name: _recording(name, table, target, len(found) > 1, beside(hardware, places[name]))
        for name, table in found.items()
    }


async def dropped(question: Question, instances: Iterable[str], at: float, access: Access) -> set[str]:
    """Those of ``instances`` that Prometheus scraped lately and does not any more: their targets are gone.

    The ``up`` of a target that left the discovery is marked stale at once; that of one which only fails is 0. Raises as
    :func:`read_prometheus`.
    """
    up = "up{" + question.matchers + "}"
    async with Session(question.address, access) as session:
        before = await _asked(session, f"{up}[{_LATELY_S}s]", at)
        now = await _asked(session, up, at, "vector")
    scraped = {one.metric.get("instance", "") for one in now}
    return {one.metric.get("instance", "") for one in before} & set(instances) - scraped


async def _whole(session: Session, selector: str, begin: float, end: float, samples: Samples) -> None:
    while begin < end - 1e-3:
        begin = await _piece(session, selector, begin, end, samples)


async def _piece(session: Session, selector: str, begin: float, end: float, samples: Samples) -> float:
    """Read one piece from ``begin`` on into ``samples``, a smaller one where it is too much; where it ends."""
    piece = min(PIECE_S, end - begin)
    while True:
        query = f"{selector}[{max(round(piece * 1000), 1)}ms]"
        try:
            gather(await _asked(session, query, begin + piece), samples)
        except TooLarge:
            if piece <= _LEAST_PIECE_S:
                raise
            piece /= 2
        else:
            return begin + piece


async def _asked(session: Session, query: str, at: float, kind: str = "matrix") -> list[Series]:
    answer = await session.get(f"/api/v1/query?query={quote(query, safe='')}&time={at:.3f}")
    where = session.address.base
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
    _refused(told, answer, where)
    raise AssertionError("unreachable")


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


def _refused(told: Answered, answer: Answer, where: str) -> None:
    reason = told.error[:200] or f"status {answer.status}"
    if "too many samples" in reason or "too many points" in reason:
        raise TooLarge(f"{where} holds more samples than it answers with: {reason}", "narrow the selector")
    if told.error_type == "bad_data":
        raise UsageError(f"{where} cannot read the selector: {reason}", "it is put into PromQL as it is given")
    raise Unavailable(f"{where} refused the query: {reason}", "look at the Prometheus itself; try again")


def _is_engine(table: SeriesTable) -> bool:
    return len(table.times) > 0 and any("num_requests_running" in key.name for key in table.keys)


def _recording(name: str, table: SeriesTable, target: str, several: bool, hardware: SeriesTable) -> Recording:
    return Recording(
        target=Target(f"{target} {name}" if several else target),
        metrics=table,
        gpu=gpu_of(hardware),
        host=host_of(hardware),
        log=xid_lines(hardware),
    )
