"""What a watch would read and tell, tried once before it runs: nothing is watched, sent or kept."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from functools import partial
from pathlib import Path

from whystall import __version__
from whystall.errors import WhystallError
from whystall.model.checkup import Check, Checkup
from whystall.model.recording import Recording
from whystall.model.text import Text
from whystall.sources.checkup.reachable import reachable
from whystall.sources.files.kernel_log import KernelRing, is_kernel_ring
from whystall.sources.hardware.columns import is_hardware
from whystall.sources.kubernetes.question import is_kubernetes, parse_kubernetes
from whystall.sources.kubernetes.reader import read_kubernetes
from whystall.sources.live.access import Access
from whystall.sources.live.address import Address
from whystall.sources.live.http import Session
from whystall.sources.live.log_tail import LogTail
from whystall.sources.live.page_watch import watch_page
from whystall.sources.prometheus.question import parse_question
from whystall.sources.prometheus.reader import read_prometheus
from whystall.sources.ray.question import is_ray, parse_ray, ray_token
from whystall.sources.ray.reader import read_ray
from whystall.sources.tracing.receiver import parse_listen

from .daemon import Plan
from .discovery import discovers
from .guard import require_token
from .settings import NoticeSettings
from .target import WatchTarget

_AT_ONCE = 64
_ENGINES = Text("{count} engine{s}: {names}", "{count} 个引擎：{names}")
_MUTE = Text(
    "no page from {count}: {names}; those that give one: {fine}", "{count} 个引擎没有指标页：{names}；正常的：{fine}"
)
_FOLLOWED = Text("can be followed", "可以跟踪")
_SENT = Text("not sent; address and keys are there", "未发送；地址和密钥已就绪")
_NO_EXPORTER = Text(
    "serves metrics, but neither DCGM's nor node_exporter's", "有指标，但既不是 DCGM 也不是 node_exporter"
)
_EXPORTER = Text("exporter, {count} series", "导出器，{count} 个序列")
_WRITABLE = Text("can be written", "可写入")
_NOT_WRITABLE = Text("cannot be written: the folder {folder}", "无法写入：目录 {folder}")
_LISTENS = Text("HTTP interface", "HTTP 接口")
_SPANS = Text("spans are received here", "在此接收 span")


async def rehearse(plan: Plan) -> Checkup:
    """Each target's page, each log, exporter and receiver of notices, and the store, each asked or opened once."""
    gate = asyncio.Semaphore(_AT_ONCE)

    async def one(target: WatchTarget) -> list[Check]:
        async with gate:
            return [await _page(target), *[await _exporter(url, target) for url in target.exporters]]

    pages = await asyncio.gather(*map(one, plan.targets))
    here = [check for target in plan.targets for check in _files(target)]
    here += [_store(plan.store)] if plan.store is not None else []
    here += [_notice(notice) for notice in plan.settings.notices]
    if plan.host:
        here.append(_tried(f"{plan.host}:{plan.port}", _LISTENS, lambda: require_token(plan.host, plan.token)))
    return Checkup(__version__, (), tuple(here), reachable=tuple(check for checks in pages for check in checks))


async def _page(target: WatchTarget) -> Check:
    try:
        if discovers(target.target):
            return _several(target.name, await _members(target))
        async with Session(Address.parse(target.target), target.access) as session:
            page = (await reachable(session)).checks[0]
        return Check(target.name, page.state, page.text, page.how)
    except WhystallError as error:
        return _failed(target.name, error)


async def _members(target: WatchTarget) -> dict[str, Recording]:
    """Each engine behind a target that tells of several, read once."""
    text, access, name = target.target, target.access, target.name
    if is_kubernetes(text):
        return await read_kubernetes(parse_kubernetes(text), 0.0, 1.0, access, name)
    if is_ray(text):
        return await read_ray(parse_ray(text), 0.0, 1.0, access.or_token(ray_token()), name)
    return await read_prometheus(parse_question(text), 60.0, access, name)


def _several(target: str, found: dict[str, Recording]) -> Check:
    mute = [name for name, one in sorted(found.items()) if not len(one.metrics.times)]
    names = ", ".join(sorted(set(found) - set(mute))[:5])
    if mute:
        return Check(target, "failed", _MUTE.format(count=len(mute), names=", ".join(mute[:5]), fine=names or "-"))
    return Check(target, "ok", _ENGINES.format(count=len(found), s="" if len(found) == 1 else "s", names=names))


async def _exporter(url: str, target: WatchTarget) -> Check:
    name = f"{target.name} {url}"
    try:
        table = await watch_page(Address.parse(url), Access(timeout_s=target.access.timeout_s), 0.0, 1.0)
    except WhystallError as error:
        return _failed(name, error)
    if not is_hardware(key.name for key in table.keys):
        return Check(name, "failed", _NO_EXPORTER)
    return Check(name, "ok", _EXPORTER.format(count=len(table.keys)))


def _files(target: WatchTarget) -> list[Check]:
    found = []
    for path in (target.log, target.kernel_log):
        if path is not None:
            found.append(_tried(f"{target.name} {path}", _FOLLOWED, partial(_open, path)))
    if target.otlp_listen:
        listen = target.otlp_listen.removeprefix("grpc://").removeprefix("http://")
        found.append(_tried(f"{target.name} {target.otlp_listen}", _SPANS, lambda: parse_listen(listen)))
    return found


def _open(path: Path) -> None:
    if is_kernel_ring(path):
        KernelRing(path).close()
    else:
        LogTail(path).close()


def _store(path: Path) -> Check:
    """Whether the file, or one in the nearest folder that is there, can be written."""
    folder = path if path.exists() else next((one for one in path.parents if one.exists()), path.parent)
    if os.access(folder, os.W_OK):
        return Check(str(path), "ok", _WRITABLE)
    return Check(str(path), "failed", _NOT_WRITABLE.format(folder=folder))


def _notice(notice: NoticeSettings) -> Check:
    def ready() -> None:
        notice.address()
        notice.key()

    return _tried(f"notice {notice.kind}", _SENT, ready)


def _tried(name: str, fine: Text, do: Callable[[], object]) -> Check:
    try:
        do()
    except WhystallError as error:
        return _failed(name, error)
    return Check(name, "ok", fine)


def _failed(name: str, error: WhystallError) -> Check:
    return Check(name, "failed", Text(error.message), Text(error.hint))
