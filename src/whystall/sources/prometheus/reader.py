"""The engines that a Prometheus scrapes, each as a recording: all of a short time, the worst of a long one."""

from __future__ import annotations

import time
from collections.abc import Iterable
from datetime import UTC, datetime

import msgspec

from whystall.errors import TooLittleData
from whystall.model.recording import InputWarning, Recording, SeriesTable
from whystall.model.target import Target
from whystall.model.text import Text
from whystall.sources.hardware.columns import gpu_of, host_of
from whystall.sources.hardware.dcgm import xid_lines
from whystall.sources.live.access import Access
from whystall.sources.live.http import Session

from .asking import Asking
from .hardware import beside, place_of, selectors
from .matrix import Samples, servers
from .question import Question
from .survey import LONG_S, Episode, Surveyed, episodes_in, survey, window_of

_LATELY_S = 600
_SHOWN = 5
_WORST = Text(
    "of {hours:.0f} h the minutes around {at} UTC were read in full, where this engine lost most "
    "({lost:.0f} request-seconds, by {figures} at a step of {step:.0f} s){others}",
    "在 {hours:.0f} 小时内，仅完整读取了 {at} UTC 前后的时段，该引擎在此损失最多"
    "（{lost:.0f} 请求·秒，依据{figures}，步长 {step:.0f} 秒）{others}",
)
_OTHERS = Text("; it lost something {count} times, most of all at {which}", "；共有 {count} 次损失，最严重的在 {which}")
_CALM = Text(
    "of {hours:.0f} h the last minutes were read in full: at a step of {step:.0f} s this engine lost nothing",
    "在 {hours:.0f} 小时内，仅完整读取了最后几分钟：按 {step:.0f} 秒步长看，该引擎没有损失",
)
_RULES, _RAW = Text("recorded figures", "记录规则的指标"), Text("rates of sums and counts", "总和与计数的速率")


async def read_prometheus(question: Question, seconds: float, access: Access, target: str) -> dict[str, Recording]:
    """The last ``seconds`` before the question's end: instance of an engine -> its recording.

    A range selector gives the samples as they were scraped, with their own times: nothing is interpolated. Of more than
    :data:`~whystall.sources.prometheus.survey.LONG_S` only each engine's worst time is read, and a warning says which.
    Raises what :class:`~whystall.sources.prometheus.asking.Asking` does and
    :class:`~whystall.errors.TooLittleData` where no engine's series are there.
    """
    end = question.end if question.end is not None else time.time()
    async with Session(question.address, access) as session:
        asking = Asking(session)
        if seconds > LONG_S:
            found = await _worst_of(asking, question, end - seconds, end, target)
        else:
            found = await _read(asking, question, end - seconds, end, target)
    if not found:
        raise TooLittleData(
            f"{question.address.base} has no series of a vLLM server in those {seconds:.0f} s"
            + (f" under {{{question.matchers}}}" if question.matchers else ""),
            "check the selector and the time (--for, &end=); vLLM's names begin with vllm:",
        )
    return {
        name: msgspec.structs.replace(one, target=Target(f"{target} {name}" if len(found) > 1 else target))
        for name, one in found.items()
    }


async def _worst_of(asking: Asking, question: Question, begin: float, end: float, target: str) -> dict[str, Recording]:
    """Of each engine the time in which it lost most, else its last minutes."""
    seen = await survey(asking, question.matchers, begin, end)
    found: dict[str, Recording] = {}
    if not all(seen.episodes.values()) or not seen.episodes:
        lately = await _read(asking, question, *window_of(None, end), target)
        found |= {name: one for name, one in lately.items() if not seen.episodes.get(name)}
    for name, episodes in seen.episodes.items():
        if episodes:
            own = msgspec.structs.replace(question, matchers=_with_instance(question.matchers, name))
            found |= await _read(asking, own, *window_of(episodes[0], end), target)
    hours = (end - begin) / 3600
    return {
        name: msgspec.structs.replace(one, warnings=(*one.warnings, _said(seen, name, hours)))
        for name, one in sorted(found.items())
    }


def _with_instance(matchers: str, name: str) -> str:
    quoted = name.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return ",".join(filter(None, (matchers, f'instance="{quoted}"')))


def _said(seen: Surveyed, name: str, hours: float) -> InputWarning:
    episodes = seen.episodes.get(name, ())
    if not episodes:
        return InputWarning("prometheus_survey", _CALM.format(hours=hours, step=seen.step_s))
    others = _OTHERS.format(count=len(episodes), which=_moments(episodes)) if len(episodes) > 1 else Text("")
    text = _WORST.format(
        hours=hours,
        at=_moment(episodes[0].begin),
        lost=episodes[0].lost_s,
        figures=_RULES if seen.by_rules else _RAW,
        step=seen.step_s,
        others=others,
    )
    return InputWarning("prometheus_survey", text)


def _moments(episodes: Iterable[Episode]) -> str:
    return ", ".join(_moment(episode.begin) for episode in episodes_in(episodes, _SHOWN))


def _moment(t: float) -> str:
    return datetime.fromtimestamp(t, UTC).strftime("%Y-%m-%d %H:%M")


async def _read(asking: Asking, question: Question, begin: float, end: float, target: str) -> dict[str, Recording]:
    """Everything between the two moments; empty where no engine is there."""
    samples, hardware = Samples(), Samples()
    await asking.whole(question.selector(), begin, end, samples)
    found = {name: table for name, table in servers(samples).items() if _is_engine(table)}
    places = {name: place_of(name, table) for name, table in found.items()}
    for selector in selectors(places.values()) if found else ():
        await asking.whole(selector, begin, end, hardware)
    return {name: _recording(table, target, beside(hardware, places[name])) for name, table in found.items()}


async def dropped(question: Question, instances: Iterable[str], at: float, access: Access) -> set[str]:
    """Those of ``instances`` that Prometheus scraped lately and does not any more: their targets are gone.

    The ``up`` of a target that left the discovery is marked stale at once; that of one which only fails is 0. Raises as
    :func:`read_prometheus`.
    """
    up = "up{" + question.matchers + "}"
    async with Session(question.address, access) as session:
        asking = Asking(session)
        before = await asking.series(f"{up}[{_LATELY_S}s]", at)
        now = await asking.series(up, at, "vector")
    scraped = {one.labels().get("instance", "") for one in now}
    return {one.labels().get("instance", "") for one in before} & set(instances) - scraped


async def scraped(question: Question, at: float, access: Access) -> set[str]:
    """The instances that Prometheus scrapes at that time, whether they answer or not, of whatever kind; empty where it has
    no ``up``. Raises as :func:`read_prometheus`."""
    async with Session(question.address, access) as session:
        found = await Asking(session).series("group by (instance) (up)", at, "vector")
    return {one.labels().get("instance", "") for one in found} - {""}


def _is_engine(table: SeriesTable) -> bool:
    return len(table.times) > 0 and any("num_requests_running" in key.name for key in table.keys)


def _recording(table: SeriesTable, target: str, hardware: SeriesTable) -> Recording:
    return Recording(
        target=Target(target),
        metrics=table,
        gpu=gpu_of(hardware),
        host=host_of(hardware),
        log=xid_lines(hardware),
    )
