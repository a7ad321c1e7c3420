"""``whystall demo``: a server runs into its limit under a live load, and is diagnosed while it does."""

from __future__ import annotations

import asyncio
from pathlib import Path

import click

from whystall.model.diagnosis import Diagnosis
from whystall.model.text import Text
from whystall.pipeline import diagnose
from whystall.reports import Finding, render

from .collecting import shown_progress
from .incident import EMULATED, RECORDED, Incident, watch
from .language import language
from .options import LANG
from .output import Output

NOT_FOUND = 1
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
@click.option("--recording", is_flag=True, help="A recording of a real server instead, replayed.")
@LANG
def demo(file: Path, recording: bool, lang: str | None) -> int:
    """Watch a server run into its limit, and see it found.

    Takes about half a minute. Needs no GPU and no network: the server is emulated on this machine, under a live load
    that changes while it is looked at. Exits 0 when the planted cause was found.
    """
    tongue = language(lang)
    incident = RECORDED if recording else EMULATED
    page, terminal = Output("html", tongue, file), Output("text", tongue)
    page.check()
    with shown_progress(tongue) as show:
        seen = asyncio.run(watch(incident, lambda url: _introduce(incident, url, tongue), show))
    finding = diagnose(seen)
    terminal.write(render(finding, "text", tongue, terminal.width, terminal.colour))
    page.write(render(finding, "html", tongue))
    click.echo("\n" + _outcome(incident, finding, file).in_(tongue))
    return 0 if found(incident, finding.diagnosis) else NOT_FOUND


def _introduce(incident: Incident, url: str, lang: str) -> None:
    click.echo(incident.introduction.format(url=url, speed=incident.speed, at=incident.at_s).in_(lang))


def found(incident: Incident, diagnosis: Diagnosis) -> bool:
    """Whether the cause that was planted stands first."""
    return diagnosis.verdict == "bottleneck" and bool(diagnosis.causes) and diagnosis.causes[0].id == incident.cause


def _outcome(incident: Incident, finding: Finding, file: Path) -> Text:
    causes = finding.diagnosis.causes
    onset = causes[0].onset if causes else None
    values = {"planted": incident.cause, "at": incident.at_s, "file": file}
    if not found(incident, finding.diagnosis):
        return _MISSED.format(found=causes[0].id if causes else finding.diagnosis.verdict, **values)
    return _FOUND.format(found=incident.cause, onset=_ONSET.format(at=onset.seconds) if onset else "", **values)
