"""``whystall trial``: prove a change by an A/B run under load, or compare two results of another load generator."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast, get_args

import click

from whystall.errors import UsageError
from whystall.model.slo import Slo
from whystall.model.trial import Metric, Trial
from whystall.reports import FORMATS
from whystall.reports.figures import duration
from whystall.reports.trial import job_summary, render_trial, workflow_commands
from whystall.trials.agreement import token_agreement
from whystall.trials.live_arm import live_arm
from whystall.trials.load.plan import LoadPlan
from whystall.trials.metrics import METRICS
from whystall.trials.results.comparison import compare_results
from whystall.trials.results.files import read_result
from whystall.trials.rules import Goal, Rules, floors_of, promised_by
from whystall.trials.trial import TrialSpec, run_trial

from .loading import SEND_LOAD, allow_load, load_options
from .options import ACCESS, SLO, duration_option, output_options, reading_options
from .output import Output
from .reading import Asked, Reading

HARM, NOT_SHOWN = 1, 3
SUMMARY_VARIABLE = "GITHUB_STEP_SUMMARY"
_BUDGET_S = 900.0
_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


def _effect(_: click.Context, param: click.Parameter, text: str | None) -> float | None:
    """``5%`` or ``0.05``."""
    if text is None:
        return None
    try:
        value = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    except ValueError:
        value = -1.0
    if not 0 < value < 1:
        raise UsageError(f"{param.opts[0]}: {text!r} is no effect", "Write 5% or 0.05.")
    return value


@click.command()
@click.option("--a", "a", metavar="TARGET", help="The server as it is: an address, or a name from whystall.toml.")
@click.option("--b", "b", metavar="TARGET", help="The server with the change.")
@click.option("--a-result", type=_FILE, help="Instead: a result file of vllm bench serve, GuideLLM or AIPerf.")
@click.option("--b-result", type=_FILE, help="The other one.")
@click.option("--benchmark", type=click.IntRange(1), help="Which benchmark of a GuideLLM report, from 1.")
@SEND_LOAD
@load_options
@click.option("--metric", type=click.Choice(get_args(Metric)), default="e2e_mean", show_default=True, help="To win by.")
@click.option(
    "--goal",
    type=click.Choice(get_args(Goal)),
    default="improve",
    show_default=True,
    help="Show that B is better, or that nothing got worse.",
)
@click.option("--minimum-effect", callback=_effect, metavar="SHARE", help="The least that counts [default: 5%].")
@click.option(
    "--guards",
    type=click.Choice(["demand", "watch"]),
    default="demand",
    show_default=True,
    help="A win waits until every guard is shown to hold, or only until none is harmed.",
)
@duration_option("--for", "budget_s", "The most time it may take, on the servers' clocks [default: 15m].")
@duration_option("--block", "block_s", "A block's length [default: 10s, or 3 times the p95 of E2E].")
@click.option("--check-tokens", is_flag=True, help="Compare greedy answers first: for a change of precision.")
@click.option("--natural-stops", is_flag=True, help="Let the model end its answers; else they have the asked length.")
@click.option("--model", default="", help="The model's name [default: the first that each serves].")
@click.option("--seed", type=int, default=1, show_default=True, help="Draws the load.")
@reading_options(SLO, *ACCESS)
@output_options(FORMATS)
def trial(
    a: str | None,
    b: str | None,
    a_result: Path | None,
    b_result: Path | None,
    asked: Asked,
    output: Output,
    **given: Any,
) -> int:
    """Prove a change by an A/B run under load.

    Blocks of the same requests go to A and B in turn (ABBA); after every pair it looks whether something is shown, by
    intervals that stay valid however often one looks. Exits 0 on a WIN, or where the goal no-regression is shown; 1 on
    HARM; 3 where neither was shown. With --format github it writes annotations, and the report into the job's summary.
    """
    output.check()
    metric = cast(Metric, given["metric"])
    if a_result is not None and b_result is not None and not (a or b):
        one, two = (read_result(path, given["benchmark"]) for path in (a_result, b_result))
        found = compare_results(one, two, (str(a_result), str(b_result)), metric)
        return _tell(found, "improve", output)
    if not a or not b or a_result or b_result:
        raise UsageError(
            "a trial needs two servers or two results", "Give --a and --b, or --a-result and --b-result; see --help."
        )
    readings = asked.server(a), asked.server(b)
    budget_s = given["budget_s"] or _BUDGET_S
    allow_load(readings, given["plan"], given["send_load"], f"<= {duration(budget_s)}", output.lang)
    spec = _spec(given["plan"], readings[0].slo, budget_s, metric, given)
    found = asyncio.run(_run(readings, spec, given, _progress()))
    return _tell(found, spec.rules.goal, output)


def _spec(plan: LoadPlan, slo: Slo | None, budget_s: float, metric: Metric, given: dict[str, Any]) -> TrialSpec:
    if METRICS[metric].better == "neither":
        raise UsageError(f"--metric {metric}: neither more nor less of it is better", "Choose another to win by.")
    if metric in ("goodput", "slo_attainment") and slo is None:
        raise UsageError(f"--metric {metric} needs an SLO", "Add --slo ttft_p95=1s,itl_p95=50ms, with your own bounds.")
    rules = Rules(
        primary=metric,
        goal=given["goal"],
        minimum_effect=given["minimum_effect"],
        demand_guards=given["guards"] == "demand",
        floors=floors_of(slo) if slo is not None else None,
        promised=promised_by(slo),
    )
    return TrialSpec(plan=plan, rules=rules, slo=slo, budget_s=budget_s, block_s=given["block_s"], seed=given["seed"])


async def _run(
    readings: tuple[Reading, Reading], spec: TrialSpec, given: dict[str, Any], say: Callable[[str], None]
) -> Trial:
    how = {"model": given["model"], "natural_stops": given["natural_stops"]}
    one, two = readings
    async with live_arm(one.target, access=one.access, **how) as a, live_arm(two.target, access=two.access, **how) as b:
        agreement = await token_agreement(a, b, seed=spec.seed) if given["check_tokens"] else None
        return await run_trial(a, b, spec, say, agreement=agreement)


def _progress() -> Callable[[str], None]:
    shown = sys.stderr.isatty()
    return lambda text: click.echo(text, err=True) if shown else None


def _tell(found: Trial, goal: Goal, output: Output) -> int:
    summary = os.environ.get(SUMMARY_VARIABLE, "")
    if output.format == "github" and summary and output.file is None:
        _append(Path(summary), job_summary(found, output.lang))
        click.echo(workflow_commands(found, output.lang), nl=False)
    else:
        output.tell_first(lambda width: render_trial(found, "text", output.lang, width, False))
        output.write(render_trial(found, output.format, output.lang, output.width, output.colour))
    return exit_code(found, goal)


def _append(path: Path, text: str) -> None:
    try:
        with path.open("a", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        raise UsageError(f"${SUMMARY_VARIABLE} {path} cannot be written: {error.strerror}", "Unset it.") from error


def exit_code(found: Trial, goal: Goal) -> int:
    """0 where what was asked for is shown, 1 on harm, 3 where it is not shown."""
    if found.verdict == "HARM":
        return HARM
    shown = found.verdict == "WIN" or (goal == "no-regression" and found.verdict == "FUTILE")
    return 0 if shown else NOT_SHOWN
