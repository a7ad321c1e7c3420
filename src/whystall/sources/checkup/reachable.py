"""What a server answers, and what its metrics page tells of it."""

from __future__ import annotations

import asyncio
import json
import time

import msgspec

from whystall.errors import TlsFailed, Unreachable, WhystallError
from whystall.model.checkup import Check
from whystall.model.recording import SeriesKey
from whystall.model.text import Text
from whystall.sources.dialects import VersionRange, describe, guess_version, unknown_names
from whystall.sources.exposition import PageParser
from whystall.sources.live.http import Answer, Session

_LIMIT_BYTES = 8 * 1024 * 1024
_VLLM_HAS_IT = Text("vLLM serves it; a gateway in front may not", "vLLM 提供此端点；前面的网关可能不转发")
_HOW = {
    "/version": _VLLM_HAS_IT,
    "/health": _VLLM_HAS_IT,
    "/v1/models": _VLLM_HAS_IT,
    "/server_info": Text(
        "start the server with VLLM_SERVER_DEV_MODE=1 on a trusted network only; --log or --server-args tell the same",
        "仅在可信网络中以 VLLM_SERVER_DEV_MODE=1 启动服务器；--log 或 --server-args 可提供相同信息",
    ),
}
_CREDENTIALS = Text(
    "it wants credentials: give a token by --token-file or WHYSTALL_TOKEN",
    "需要凭据：请用 --token-file 或 WHYSTALL_TOKEN 提供令牌",
)


class Reached(msgspec.Struct, frozen=True):
    """The checks of one server, the series of its page, and its version as it says itself ("" where it does not)."""

    checks: tuple[Check, ...]
    keys: tuple[SeriesKey, ...] = ()
    version: str = ""
    config: bool = False  # whether /server_info answered


async def reachable(session: Session) -> Reached:
    """Ask every endpoint once. Raises nothing for what does not answer: that is a check that failed."""
    try:
        metrics, keys = await _metrics(session)
    except (Unreachable, TlsFailed) as error:  # nothing there: the other endpoints would say the same four times
        return Reached((_failed("/metrics", error),))
    answers = await asyncio.gather(*(_ask(session, path) for path in _HOW))
    found = dict(zip(_HOW, answers, strict=True))
    version = _version(found["/version"])
    checks = [_endpoint(path, answer, version) for path, answer in found.items()]
    info = found["/server_info"]
    return Reached((metrics, *checks), keys, version, isinstance(info, Answer) and info.status == 200)


async def _metrics(session: Session) -> tuple[Check, tuple[SeriesKey, ...]]:
    started = time.perf_counter()
    try:
        answer = await session.metrics()
        took_s = time.perf_counter() - started
        parser = PageParser()
        parser.parse(answer.body)
    except (Unreachable, TlsFailed):
        raise
    except WhystallError as error:
        return _failed("/metrics", error), ()
    keys = tuple(parser.keys)
    size = {"series": len(keys), "kb": f"{len(answer.body) / 1000:.0f}", "ms": f"{took_s * 1000:.0f}"}
    return _dialect(keys, size), keys


def _failed(path: str, error: WhystallError) -> Check:
    return Check(path, "failed", Text(error.message), Text(error.hint))


def _dialect(keys: tuple[SeriesKey, ...], size: dict[str, object]) -> Check:
    names = {key.name for key in keys}
    known = any((entry := describe(name)) and entry.prefix for name in names)
    measured = Text("{series} series, {kb} kB in {ms} ms", "{series} 个序列，{kb} kB，用时 {ms} ms").format(**size)
    if not known:
        return Check(
            "/metrics",
            "failed",
            Text("no metric of a known engine; {size}", "没有已知引擎的指标；{size}").format(size=measured),
            Text(
                "is it the engine's own port? --disable-log-stats takes vLLM's metrics away",
                "这是引擎自己的端口吗？--disable-log-stats 会去掉 vLLM 的指标",
            ),
        )
    dialect = "Ray" if any(name.startswith("ray_") for name in names) else "vLLM"
    text = Text("{dialect} names {range}, {size}", "{dialect} 指标名 {range}，{size}")
    return Check("/metrics", "ok", text.format(dialect=dialect, range=_span(guess_version(names)), size=measured))


def _span(version: VersionRange) -> Text:
    if version.since and version.until:
        return Text(f"of {version.since} to {version.until}", f"（{version.since} 至 {version.until}）")
    if version.since:
        return Text(f"of {version.since} or later", f"（{version.since} 或更新）")
    return Text(f"of {version.until} or earlier", f"（{version.until} 或更早）") if version.until else Text("")


async def _ask(session: Session, path: str) -> Answer | WhystallError:
    try:
        return await session.get(path, _LIMIT_BYTES)
    except WhystallError as error:
        return error


def _endpoint(path: str, answer: Answer | WhystallError, version: str) -> Check:
    if isinstance(answer, WhystallError):
        return _failed(path, answer)
    if answer.status != 200:
        how = _CREDENTIALS if answer.status in (401, 403) else _HOW[path]
        return Check(path, "missing", Text(f"HTTP {answer.status}"), how)
    return Check(path, "ok", Text(version if path == "/version" and version else "HTTP 200"))


def _version(answer: Answer | WhystallError) -> str:
    if isinstance(answer, WhystallError) or answer.status != 200:
        return ""
    try:
        body = json.loads(answer.body)
    except ValueError:
        return ""
    version = body.get("version") if isinstance(body, dict) else None
    return version[:100] if isinstance(version, str) else ""


def newer_names(keys: tuple[SeriesKey, ...]) -> tuple[str, ...]:
    """Names of the engine that no table has, most likely of a newer version."""
    return unknown_names(keys)
