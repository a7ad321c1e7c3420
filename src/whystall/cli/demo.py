"""``whystall demo``: a server runs into its limit, is diagnosed, changed and proven right; and what was learnt is kept."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import click
import msgspec

from whystall.loop.demonstration import AT_S, CAUSE, INTRODUCTION, Demonstrated, demonstrate, found, proven
from whystall.model.diagnosis import Diagnosis
from whystall.model.text import Text
from whystall.pipeline import diagnose
from whystall.reports import Finding, render
from whystall.reports.fix import render_fix
from whystall.reports.phrases import PHRASES
from whystall.reports.postmortem_text import render_postmortem
from whystall.reports.titles import cause_name

from .collecting import shown_progress
from .incident import RECORDED, Incident, watch
from .language import language
from .options import LANG
from .output import Output

NOT_FOUND = 1
_FOUND = Text(
    "Planted at {at:.0f} s: {planted}. Found{onset}. The page: {file}",
    "第 {at:.0f} 秒埋下：{planted}。已找到{onset}。报告页面：{file}",
)
_MISSED = Text(
    "Planted at {at:.0f} s: {planted}. NOT found; the answer was: {found}. The page: {file}",
    "第 {at:.0f} 秒埋下：{planted}。未找到，给出的答案是：{found}。报告页面：{file}",
)
_ONSET = Text(" at {at:.1f} s", "，起点第 {at:.1f} 秒")
_PROVEN = Text("Fixed and proven. The post-mortem: {file}", "已修复并验证。复盘：{file}")
_UNPROVEN = Text("NOT fixed: {because}", "未修复：{because}")


@click.command()
@click.option(
    "-o",
    "--output",
    "file",
    type=click.Path(dir_okay=False, path_type=Path),
    default=Path("whystall-demo.html"),
    show_default=True,
    help="Where the HTML report goes; the post-mortem goes beside it.",
)
@click.option("--recording", is_flag=True, help="A recording of a real server instead, replayed: the diagnosis only.")
@LANG
def demo(file: Path, recording: bool, lang: str | None) -> int:
    """Watch a server run into its limit, and see it found, fixed and proven.

    Takes less than a minute and a half. Needs no GPU and no network: the server is emulated on this machine, in
    emulated time. Exits 0 when the planted cause was found and its fix proven.
    """
    tongue = language(lang)
    Output("html", tongue, file).check()
    return _recorded(file, tongue) if recording else _emulated(file, tongue)


def _recorded(file: Path, tongue: str) -> int:
    with shown_progress(tongue) as show:
        seen = asyncio.run(watch(RECORDED, lambda url: _introduce(RECORDED, url, tongue), show))
    finding = diagnose(seen)
    _report(finding, file, tongue)
    click.echo("\n" + _outcome(finding, RECORDED.at_s, file).in_(tongue))
    return 0 if is_planted(finding.diagnosis) else NOT_FOUND


def _introduce(incident: Incident, url: str, lang: str) -> None:
    click.echo(incident.introduction.format(url=url, speed=incident.speed, at=incident.at_s).in_(lang))


def _emulated(file: Path, tongue: str) -> int:
    click.echo(INTRODUCTION.in_(tongue))
    with TemporaryDirectory(prefix="whystall-demo-") as folder, _ended_by_ctrl_c():
        done = asyncio.run(demonstrate(Path(folder), lambda text: click.echo(text.in_(tongue), err=True)))
    if done.finding is None:
        return NOT_FOUND
    _report(done.finding, file, tongue)
    terminal = Output("text", tongue)
    shown = msgspec.structs.replace(done.fix, case=0)  # its book is gone when this ends
    terminal.write("\n" + render_fix(shown, tongue, terminal.width, terminal.colour))
    click.echo("\n" + _outcome(done.finding, AT_S, file).in_(tongue))
    click.echo(_closed(done, file, tongue))
    return 0 if found(done.fix) and proven(done.fix) else NOT_FOUND


@contextmanager
def _ended_by_ctrl_c() -> Iterator[None]:
    """Ctrl-C ends it where it stands: the event loop's own way waits for a pause, and emulated time makes none."""

    def end(*_: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGINT, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _report(finding: Finding, file: Path, tongue: str) -> None:
    page, terminal = Output("html", tongue, file, told=False), Output("text", tongue)
    terminal.write(render(finding, "text", tongue, terminal.width, terminal.colour))
    page.write(render(finding, "html", tongue))


def _closed(done: Demonstrated, file: Path, tongue: str) -> str:
    """Writes the post-mortem, and says where it is."""
    if not proven(done.fix) or done.case is None:
        return _UNPROVEN.format(because=done.fix.because).in_(tongue)
    beside = file.with_name(f"{file.stem}-postmortem.html")
    Output("html", tongue, beside, told=False).write(render_postmortem(done.case, "html", tongue))
    return _PROVEN.format(file=beside).in_(tongue)


def is_planted(diagnosis: Diagnosis) -> bool:
    """Whether the cause that was planted stands first."""
    return diagnosis.verdict == "bottleneck" and bool(diagnosis.causes) and diagnosis.causes[0].id == CAUSE


def _outcome(finding: Finding, at_s: float, file: Path) -> Text:
    causes = finding.diagnosis.causes
    onset = causes[0].onset if causes else None
    values = {"planted": cause_name(CAUSE), "at": at_s, "file": file}
    if not is_planted(finding.diagnosis):
        answer = cause_name(causes[0].id) if causes else PHRASES[finding.diagnosis.verdict]
        return _MISSED.format(found=answer, **values)
    return _FOUND.format(onset=_ONSET.format(at=onset.seconds) if onset else "", **values)
