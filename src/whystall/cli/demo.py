"""``whystall demo``: a bundled server runs into its limit, and is diagnosed live."""

from __future__ import annotations

import asyncio
from importlib import resources
from pathlib import Path

import click

from whystall.model.diagnosis import Diagnosis
from whystall.model.recording import Recording
from whystall.model.text import Text
from whystall.pipeline import diagnose
from whystall.reports import Finding, render
from whystall.sources.live.collector import CollectSpec, collect
from whystall.sources.replay import serve_replay

from .collecting import shown_progress
from .language import language
from .options import LANG
from .output import Output

# What was done to the bundled server, cut from a recording of a real one (tests/data/cut.py).
FOLDER = "demo_data/kv_overflow"
PLANTED = "kv_capacity"
PLANTED_AT_S = 15.0
WINDOW_S = 49.0
SPEED = 2.5  # 49 s of the recording in 20 s: fast enough to wait for, slow enough to be watched

NOT_FOUND = 1
_INTRODUCTION = Text(
    "A recording of a real vLLM 0.26 on one H200 is served at {url}, {speed:g} times as fast as it ran.\n"
    "Planted: room for 40,000 KV tokens, and after {at:.0f} s 128 clients instead of 8.\n",
    "一台 H200 上真实 vLLM 0.26 的录制正以 {speed:g} 倍速在 {url} 提供服务。\n"
    "埋下的问题：KV 只容纳 40,000 个 token，{at:.0f} 秒后客户端由 8 个增至 128 个。\n",
)
_FOUND = Text(
    "Planted {planted} at {at:.0f} s: found {found}{onset}. The page: {file}",
    "在第 {at:.0f} 秒埋下 {planted}：找到了 {found}{onset}。报告页面：{file}",
)
_MISSED = Text(
    "Planted {planted} at {at:.0f} s: NOT found, the answer was {found}. The page: {file}",
    "在第 {at:.0f} 秒埋下 {planted}：未找到，给出的答案是 {found}。报告页面：{file}",
)
_ONSET = Text(" at {at:.1f} s", "，起点第 {at:.1f} 秒")


@click.command()
@click.option(
    "-o",
    "--output",
    "file",
    type=click.Path(dir_okay=False, path_type=Path),
    default=Path("whystall-demo.html"),
    show_default=True,
    help="Where the HTML report goes.",
)
@LANG
def demo(file: Path, lang: str | None) -> int:
    """Watch a bundled server run into its limit, and see it found.

    Takes about 25 seconds. Needs no GPU and no network: the server is a recording that is replayed on this machine.
    Exits 0 when the planted cause was found.
    """
    tongue = language(lang)
    page, terminal = Output("html", tongue, file), Output("text", tongue)
    page.check()
    finding = diagnose(asyncio.run(_watch(tongue)))
    terminal.write(render(finding, "text", tongue, terminal.width, terminal.colour))
    page.write(render(finding, "html", tongue))
    click.echo("\n" + _outcome(finding, file).in_(tongue))
    return 0 if found(finding.diagnosis) else NOT_FOUND


async def _watch(lang: str) -> Recording:
    with resources.as_file(resources.files("whystall") / FOLDER) as folder:
        async with serve_replay(folder, speed=SPEED) as url:
            click.echo(_INTRODUCTION.format(url=url, speed=SPEED, at=PLANTED_AT_S).in_(lang))
            with shown_progress(lang) as show:
                return await collect(CollectSpec(url, seconds=WINDOW_S), progress=show)


def found(diagnosis: Diagnosis) -> bool:
    """Whether the cause that was planted stands first."""
    return diagnosis.verdict == "bottleneck" and bool(diagnosis.causes) and diagnosis.causes[0].id == PLANTED


def _outcome(finding: Finding, file: Path) -> Text:
    causes = finding.diagnosis.causes
    onset = causes[0].onset if causes else None
    values = {"planted": PLANTED, "at": PLANTED_AT_S, "file": file}
    if not found(finding.diagnosis):
        return _MISSED.format(found=causes[0].id if causes else finding.diagnosis.verdict, **values)
    return _FOUND.format(found=PLANTED, onset=_ONSET.format(at=onset.seconds) if onset else "", **values)
