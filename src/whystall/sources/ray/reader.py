"""A Ray cluster to recordings: its state, and the pages of its vLLM replicas scraped for a while."""

from __future__ import annotations

import asyncio
import math
import re

import msgspec

from whystall.errors import NotMetrics, TooLittleData, Unreachable, WhystallError
from whystall.model.recording import InputWarning, Recording, SeriesTable
from whystall.model.target import Target
from whystall.model.text import Text
from whystall.sources.hardware.columns import gpu_of, host_of
from whystall.sources.live.access import Access
from whystall.sources.live.address import Address
from whystall.sources.live.http import Session
from whystall.sources.live.page_watch import watch_page

from .cluster import Cluster
from .dashboard import read_cluster, read_targets
from .notices import cluster_notices
from .question import RayQuestion
from .replicas import engines_of, node_rows, report_interval

_PAGE = re.compile(r"(\[[0-9a-fA-F:.]+\]|[A-Za-z0-9._-]+):\d{1,5}\Z")
_AT_ONCE = 64  # pages that are looked at side by side
# A rate from fewer reports says little; Ray's workers report every 10 s.
_FEW_REPORTS = 6
# A node that is new comes into the discovery after some seconds; a worker's series leave the page when a report is
# late, and in some versions with each scrape until the next report.
_PATIENCE_S = 12.0
_LOOK_AGAIN_S = 1.0
_SLOW = Text(
    "Ray's workers report every {every:.0f} s: {count} reports in the window. Look for longer (--for {longer:.0f}s), or "
    "set RAY_metrics_report_interval_ms lower",
    "Ray 的工作进程每 {every:.0f} 秒上报一次：窗口内只有 {count} 次。请延长观察时间（--for {longer:.0f}s），"
    "或调低 RAY_metrics_report_interval_ms",
)
_LOST = Text("{count} of Ray's pages did not answer: {which}", "Ray 的 {count} 个指标页没有响应：{which}")


class _Page(msgspec.Struct, frozen=True):
    """A page that was scraped, or the error's name."""

    target: str
    table: SeriesTable | None = None
    error: str = ""


async def read_ray(
    question: RayQuestion, seconds: float, interval_s: float, access: Access, target: str
) -> dict[str, Recording]:
    """Watch the cluster for ``seconds``: replica of a vLLM deployment -> its recording, with what Ray says as warnings.

    The dashboard gets the access that was given; the pages of the nodes are asked without it, so that no token goes
    to an address that a server named. Raises what the dashboard's answers ask for, and TooLittleData, with what Ray
    says of itself, where no page has an engine.
    """
    plain = Access(timeout_s=access.timeout_s)
    async with Session(question.address, access) as session:
        cluster = await read_cluster(session)
        looked = await _look_for_engines(session, question, plain, seconds)
    having = [page.target for page in looked if _has_engine(page)]
    lost = [page for page in looked if page.table is None]
    if not having:
        raise _no_engine(question.address.base, cluster, len(looked), lost)
    pages = await asyncio.gather(*(_watch(one, plain, seconds, interval_s) for one in having))
    said = (*cluster_notices(cluster), *_lost([*lost, *(page for page in pages if page.table is None)]))
    found = {
        name: recording
        for page in pages
        if page.table is not None
        for name, recording in _recordings(page.table, page.target, cluster, question, said, target)
    }
    if not found:
        raise TooLittleData(
            f"no replica of {question.application or 'the cluster'} {question.deployment} reported in {seconds:g} s",
            "check application= and deployment=; Ray's workers report every 10 s",
        )
    return found


async def _look_for_engines(session: Session, question: RayQuestion, access: Access, seconds: float) -> list[_Page]:
    """Every page that discovery names, once; again, for no longer than ``seconds``, while none of them has an engine."""
    gate, clock = asyncio.Semaphore(_AT_ONCE), asyncio.get_running_loop()
    end = clock.time() + min(_PATIENCE_S, seconds)
    while True:
        targets = await read_targets(session, question.sd)
        looked = await asyncio.gather(*(_look(one, access, gate) for one in targets))
        if any(map(_has_engine, looked)) or clock.time() + _LOOK_AGAIN_S > end:
            return looked
        await asyncio.sleep(_LOOK_AGAIN_S)


def _has_engine(page: _Page) -> bool:
    return page.table is not None and bool(engines_of(page.table))


async def _look(target: str, access: Access, gate: asyncio.Semaphore) -> _Page:
    """One page, once."""
    async with gate:
        return await _watch(target, access, 0.0, 1.0)


def is_page_address(target: str) -> bool:
    """Whether what a discovery names is ``host:port`` and nothing else."""
    return _PAGE.match(target) is not None


async def _watch(target: str, access: Access, seconds: float, interval_s: float) -> _Page:
    if not is_page_address(target):
        return _Page(target[:80], error="NotAnAddress")
    try:
        return _Page(target, await watch_page(Address.parse(target), access, seconds, interval_s))
    except WhystallError as error:
        return _Page(target, error=type(error).__name__)


def _recordings(
    table: SeriesTable,
    page: str,
    cluster: Cluster,
    question: RayQuestion,
    said: tuple[InputWarning, ...],
    target: str,
) -> list[tuple[str, Recording]]:
    node, found = node_rows(table), []
    for replica, own in engines_of(table).items():
        deployment = cluster.deployment_of(replica)
        application, name = (deployment.application, deployment.name) if deployment else ("", "")
        if (question.application, question.deployment) != ("", "") and (
            question.application not in ("", application) or question.deployment not in ("", name)
        ):
            continue
        label = f"{application}/{name} {replica}".lstrip("/ ") if deployment else replica or page
        recording = Recording(
            target=Target(f"{target} {label}"),
            metrics=own,
            gpu=gpu_of(node),
            host=host_of(node),
            argv=cluster.argv_of(application),
            warnings=(*said, *_slow(own)),
        )
        found.append((label, recording))
    return found


def _slow(table: SeriesTable) -> tuple[InputWarning, ...]:
    every, count = report_interval(table), len(table.times)
    if math.isnan(every) or every < 2.0 or count >= _FEW_REPORTS:
        return ()
    said = _SLOW.format(every=every, count=count, longer=every * 2 * _FEW_REPORTS)
    return (InputWarning("ray_slow_reports", said),)


def _lost(pages: list[_Page]) -> tuple[InputWarning, ...]:
    if not pages:
        return ()
    which = ", ".join(f"{page.target} ({page.error})" for page in pages[:3])
    return (InputWarning("ray_pages_lost", _LOST.format(count=len(pages), which=which)),)


def _no_engine(where: str, cluster: Cluster, targets: int, lost: list[_Page]) -> WhystallError:
    said = "; ".join(notice.text.en for notice in cluster_notices(cluster))
    if not targets:
        return NotMetrics(f"{where} names no pages of metrics ({said})", "start Ray with --metrics-export-port")
    if len(lost) == targets:
        which = ", ".join(f"{page.target} ({page.error})" for page in lost[:3])
        return Unreachable(
            f"{where} names {targets} pages of metrics, and none can be read from here: {which} ({said})",
            "run whystall on a node of the cluster, or look through its Prometheus (prometheus+http://…)",
        )
    return TooLittleData(
        f"none of the {targets - len(lost)} pages of the Ray cluster at {where} has a vLLM engine ({said})",
        "Ray Serve LLM exports ray_vllm_* once a replica runs (log_engine_metrics); a vLLM beside Serve has its own port",
    )
