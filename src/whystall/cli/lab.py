"""``whystall lab``: experiments on an emulated or a real server: what is expected, what is seen, what the diagnosis says."""

from __future__ import annotations

import asyncio
import math
import tempfile
from pathlib import Path

import click
import msgspec

from whystall.errors import Refused, WhystallError
from whystall.model.lab_result import ExpectedChange, LabResult
from whystall.model.recording import Recording
from whystall.model.text import Text
from whystall.pipeline import diagnose
from whystall.trials.lab.catalogue import experiments, find_experiment
from whystall.trials.lab.experiment import Experiment, Observation, Outcome
from whystall.trials.lab.live_run import plan_of, run_on_url, run_on_vllm
from whystall.trials.lab.run import UNITS, run_experiment

from .lab_load import soak, stress
from .language import language
from .options import LANG

DIFFERENT = 1
_DO = Text("Done: {do}", "操作：{do}")
_ROW = Text(
    "  {mark} {figure} {kind} {level:g}: {before} -> {after}  ({why})",
    "  {mark} {figure} {kind} {level:g}：{before} -> {after}（{why}）",
)
_BY = {
    "scheduler": Text("Expected of a real scheduler:", "真实调度器的预期："),
    "article": Text("Claimed by articles, which a real scheduler need not show:", "文章的说法（真实调度器未必如此）："),
}
_ANSWER = Text("Diagnosis: {verdict}, {causes}. Expected: {cause}.", "诊断：{verdict}，{causes}。预期：{cause}。")
_NONE = Text("none", "无")
_KEPT = Text("The recording: {folder}", "记录：{folder}")


@click.group()
def lab() -> None:
    """Experiments: what is expected, what is seen, what the diagnosis says."""


lab.add_command(stress)
lab.add_command(soak)


@lab.command("list")
@LANG
def list_(lang: str | None) -> int:
    """Show the experiments."""
    tongue = language(lang, "")
    for experiment in experiments():
        click.echo(f"{experiment.id:26}{experiment.do.in_(tongue)}")
    return 0


@lab.command()
@click.argument("name")
@click.option("--target", default="emulator", show_default=True, help="emulator, vllm (starts one), or an address.")
@click.option("--send-load", is_flag=True, help="Allow the load on a server that is given by its address.")
@click.option("--keep", type=click.Path(file_okay=False, path_type=Path), help="Where the files of the run are kept.")
@click.option("--json", "as_json", is_flag=True, help="Print the outcome as JSON.")
@LANG
def run(name: str, target: str, send_load: bool, keep: Path | None, as_json: bool, lang: str | None) -> int:
    """Run an experiment and compare what is seen with what is expected.

    On the emulator it takes seconds. With --target vllm a real vLLM with a tiny random model is started, which takes
    some minutes. An address gets the experiment's load: start that server with the flags that the experiment names.
    Exits 0 where the diagnosis names the planted cause and all that a real scheduler is expected to show was seen.
    """
    experiment = find_experiment(name)
    tongue = language(lang, "")
    with tempfile.TemporaryDirectory() as scratch:
        outcome, recording = _run(experiment, target, send_load, keep or Path(scratch))
        try:
            found = diagnose(recording).diagnosis
            verdict, causes = str(found.verdict), [cause.id for cause in found.causes]
        except WhystallError as error:
            verdict, causes = error.message, []
    if as_json:
        click.echo(_json(outcome, target, verdict, causes))
    else:
        _tell(outcome, verdict, causes, tongue)
        if keep is not None:
            click.echo(_KEPT.format(folder=keep).in_(tongue))
    return 0 if _as_expected(outcome, verdict, causes) else DIFFERENT


def _run(experiment: Experiment, target: str, send_load: bool, folder: Path) -> tuple[Outcome, Recording]:
    if target == "emulator":
        return run_experiment(experiment, folder)
    plan = plan_of(experiment)
    if target == "vllm":
        return asyncio.run(run_on_vllm(experiment, folder))
    if not send_load:
        seconds = plan.before.seconds + plan.after.seconds
        raise Refused(
            f"{experiment.id} would send up to {plan.after.clients} requests at a time to {target} for {seconds:.0f} s",
            f"Add --send-load where that server is yours. Start it with: {' '.join(plan.flags)}",
        )
    return asyncio.run(run_on_url(experiment, target))


def _as_expected(outcome: Outcome, verdict: str, causes: list[str]) -> bool:
    seen = all(o.holds for o in outcome.observations if o.expectation.by == "scheduler")
    cause = outcome.experiment.cause
    return seen and (cause in causes[:2] if cause else verdict == "healthy")


def _json(outcome: Outcome, target: str, verdict: str, causes: list[str]) -> str:
    def change(seen: Observation) -> ExpectedChange:
        asked = seen.expectation
        values = _number(seen.before), _number(seen.after)
        return ExpectedChange(asked.figure, asked.kind, asked.level, asked.by, *values, seen.holds)

    body = LabResult(
        experiment=outcome.experiment.id,
        target=target,
        before={key: _number(value) for key, value in outcome.before.items()},
        after={key: _number(value) for key, value in outcome.after.items()},
        expectations=tuple(map(change, outcome.observations)),
        cause=outcome.experiment.cause,
        verdict=verdict,
        causes=tuple(causes),
        as_expected=_as_expected(outcome, verdict, causes),
    )
    return msgspec.json.format(msgspec.json.encode(body), indent=2).decode()


def _number(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _tell(outcome: Outcome, verdict: str, causes: list[str], tongue: str) -> None:
    experiment = outcome.experiment
    click.echo(experiment.title.in_(tongue))
    click.echo(_DO.format(do=experiment.do).in_(tongue))
    for by, heading in _BY.items():
        rows = [o for o in outcome.observations if o.expectation.by == by]
        if rows:
            click.echo(heading.in_(tongue))
        for row in rows:
            click.echo(_row(row, tongue))
    answer = _ANSWER.format(
        verdict=verdict, causes=", ".join(causes[:3]) or _NONE, cause=experiment.cause or Text("healthy", "健康")
    )
    click.echo(answer.in_(tongue))


def _row(row: Observation, tongue: str) -> str:
    expectation = row.expectation
    unit = UNITS[expectation.figure]
    text = _ROW.format(
        mark="+" if row.holds else "-",
        figure=expectation.figure,
        kind=expectation.kind,
        level=expectation.level,
        before=_shown(row.before, unit),
        after=_shown(row.after, unit),
        why=expectation.why,
    )
    return text.in_(tongue)


def _shown(value: float, unit: str) -> str:
    return f"{value:.3g} {unit}" if math.isfinite(value) else "not seen"
