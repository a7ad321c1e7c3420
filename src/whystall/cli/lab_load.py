"""``whystall lab stress`` and ``soak``: how much load a server takes, and whether it takes it for hours."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from typing import Any

import click

from whystall.errors import UsageError
from whystall.model.capacity import Capacity
from whystall.model.soak import Soak
from whystall.reports.capacity import LOAD_FORMATS, render_capacity
from whystall.reports.figures import duration
from whystall.reports.soak import render_soak
from whystall.trials.live_arm import live_arm
from whystall.trials.load.plan import LoadPlan
from whystall.trials.soak import SoakSpec
from whystall.trials.soak import soak as run_soak
from whystall.trials.stress import StressSpec, find_capacity

from .loading import SEND_LOAD, allow_load, load_options
from .options import ACCESS, SLO, duration_option, output_options, reading_options
from .output import Output
from .reading import Asked, Reading

NOT_KEPT, NOT_FOUND = 1, 3
_STRESS_S, _SOAK_S = 3600.0, 7200.0
_WINDOWS = 30  # of a soak, unless its windows would be under a minute
_LEAST_WINDOW_S = 60.0
_MODEL = click.option("--model", default="", help="The model's name [default: the first that it serves].")
_SEED = click.option("--seed", type=int, default=1, show_default=True, help="Draws the load.")


@click.command()
@click.argument("target")
@SEND_LOAD
@load_options
@click.option(
    "--attainment", type=click.FloatRange(0.5, 1), default=0.9, show_default=True, help="Share within the SLO."
)
@click.option("--precision", type=click.FloatRange(0.01, 1), default=0.1, show_default=True, help="Of the answer.")
@duration_option("--for", "budget_s", "The most time it may take, on the server's clock [default: 1h].")
@_MODEL
@_SEED
@reading_options(SLO, *ACCESS)
@output_options(LOAD_FORMATS)
def stress(target: str, plan: LoadPlan, asked: Asked, output: Output, send_load: bool, **given: Any) -> int:
    """Find the highest rate that a server takes within its SLO.

    Each rate is a load of at least 200 requests. A rate holds where enough of them are within --slo and no queue grows.
    The rate is doubled from --rate (1 a second) on until it fails, then bisected. It drives the server over its capacity:
    use one that serves nobody. Exits 0 where the capacity was found, 3 where the time was up first.
    """
    output.check()
    reading = asked.server(target)
    if reading.slo is None:
        raise UsageError("there is no SLO to keep", "Add --slo ttft_p95=1s,itl_p95=50ms, with your own bounds.")
    if not plan.rate and not plan.recorded and not plan.clients:
        plan = plan.with_rate(1.0)
    budget_s = given["budget_s"] or _STRESS_S
    allow_load((reading,), plan, send_load, f"<= {duration(budget_s)}", output.lang)
    spec = StressSpec(
        plan=plan,
        slo=reading.slo,
        attainment=given["attainment"],
        precision=given["precision"],
        first_rate=plan.offered,
        budget_s=budget_s,
        seed=given["seed"],
    )
    found = asyncio.run(_stressed(reading, spec, given["model"]))
    output.tell_first(lambda width: render_capacity(found, "text", output.lang, width, False))
    output.write(render_capacity(found, output.format, output.lang, output.width, output.colour))
    return 0 if found.rate is not None and found.fails_at is not None else NOT_FOUND


async def _stressed(reading: Reading, spec: StressSpec, model: str) -> Capacity:
    async with live_arm(reading.target, access=reading.access, model=model) as arm:
        return await find_capacity(arm, spec, _progress())


@click.command()
@click.argument("target")
@SEND_LOAD
@load_options
@duration_option("--for", "seconds_", "How long, on the server's clock [default: 2h].")
@duration_option("--window", "window_s", "Length of a window [default: a thirtieth of the time, at least 1m].")
@_MODEL
@_SEED
@reading_options(SLO, *ACCESS)
@output_options(LOAD_FORMATS)
def soak(target: str, plan: LoadPlan, asked: Asked, output: Output, send_load: bool, **given: Any) -> int:
    """Send the same load for hours, and say whether anything gets worse.

    The last third of the windows is held against the first. Exits 0 where it is steady, 1 where it got worse, requests
    failed or the SLO was not kept, 3 where that cannot be told.
    """
    output.check()
    reading = asked.server(target)
    seconds = given["seconds_"] or _SOAK_S
    window_s = given["window_s"] or max(seconds / _WINDOWS, _LEAST_WINDOW_S)
    allow_load((reading,), plan, send_load, duration(seconds), output.lang)
    spec = SoakSpec(plan=plan, seconds=seconds, window_s=window_s, slo=reading.slo, seed=given["seed"])
    found = asyncio.run(_soaked(reading, spec, given["model"]))
    output.tell_first(lambda width: render_soak(found, "text", output.lang, width, False))
    output.write(render_soak(found, output.format, output.lang, output.width, output.colour))
    return soak_exit(found)


async def _soaked(reading: Reading, spec: SoakSpec, model: str) -> Soak:
    async with live_arm(reading.target, access=reading.access, model=model) as arm:
        return await run_soak(arm, spec, _progress())


def soak_exit(found: Soak) -> int:
    """0 steady and within the SLO, 1 where either is surely not so, 3 where it cannot be told."""
    missed = found.attainment is not None and found.attainment < _KEPT
    if missed or found.verdict in ("worse", "failing"):
        return NOT_KEPT
    return 0 if found.verdict == "steady" else NOT_FOUND


_KEPT = 0.95  # what a bound on a p95 promises


def _progress() -> Callable[[str], None]:
    shown = sys.stderr.isatty()
    return lambda text: click.echo(text, err=True) if shown else None
