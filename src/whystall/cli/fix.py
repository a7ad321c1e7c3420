"""``whystall fix``: the loop from the diagnosis to a change that is proven, or taken back."""

from __future__ import annotations

import asyncio
import shlex
from pathlib import Path
from typing import Any

import click

from whystall.errors import UsageError
from whystall.loop.diagnoser import AutoPerformanceDiagnoser
from whystall.loop.opening import LoopConfig
from whystall.model.fix import Fix, FixState
from whystall.model.text import Text
from whystall.remedies.cost import price_of
from whystall.reports.fix import render_fix
from whystall.reports.json import to_json
from whystall.trials.load.plan import LoadPlan

from .collecting import shown_progress
from .keeping import store_path
from .options import duration_option, output_options, reading_options
from .output import Output
from .reading import Asked, Reading

EXIT_CODES: dict[FixState, int] = {
    "healthy": 0,
    "kept": 0,
    "unknown": 3,
    "no_remedy": 1,
    "planned": 1,
    "written": 1,
    "rolled_back": 1,
    "failed": 3,
}


@click.command()
@click.argument("target")
@click.option("--apply", is_flag=True, help="Make the change, prove it, and go back where it does not help.")
@click.option("--send-load", is_flag=True, help="Prove it under the incident's load sent again, or --clients/--rate.")
@click.option("--canary", is_flag=True, help="Try also what is likelier to harm than not, or was not predicted.")
@click.option("--resume", is_flag=True, help="Say what a run that was cut off left; with --apply put it right.")
@click.option("--recheck", is_flag=True, help="Only look at what was kept before: it holds, or its case opens again.")
@click.option("--undo", type=int, metavar="CASE", help="Take back the change that was kept in CASE; with --apply.")
@click.option("--clients", type=click.IntRange(1), help="With --send-load: so many clients that wait.")
@click.option("--rate", type=click.FloatRange(0, min_open=True), help="With --send-load: requests a second.")
@click.option("--arguments", default="", help="With a model: arguments that vllm serve is started with, as one text.")
@duration_option("--budget", "budget_s", "How long the proof may take [default: 30m].")
@click.option("--gpu-hour", default="", metavar="PRICE", help="What a GPU's hour costs: then money is reckoned too.")
@click.option("--store", type=click.Path(dir_okay=False, path_type=Path), help="Where cases are kept.")
@reading_options()
@output_options(("text", "json"))
def fix(target: str, asked: Asked, output: Output, resume: bool, undo: int | None, **given: Any) -> int:
    """Apply a remedy, check that it helped, and roll back where it did not.

    TARGET is a server's address, its name in whystall.toml, or a model's folder, which is then served. Without --apply
    nothing is changed and the exact change is printed. How a server is changed stands in whystall.toml
    ([targets.NAME.actuator]); one that whystall started needs none. Exits 0 where it is healthy or the change is
    proven, 1 where a bottleneck stays, 3 where it could not be told or the change failed.
    """
    output.check()
    reading = asked.of(target)
    config = _config(reading, given | {"store": store_path(given["store"], asked.settings)})
    with shown_progress(output.lang) as show:
        subject = AutoPerformanceDiagnoser(reading.target, config, say=_sayer(output), show=show)
        found = asyncio.run(_done(subject, resume, undo))
    if output.format == "json":
        output.write(to_json(found, output.lang))
    else:
        output.write(render_fix(found, output.lang, output.width, output.colour, slo=reading.slo is not None))
    if given["recheck"]:
        return int(any(one.came_back for one in found.rechecked))
    asked_back = resume or undo is not None
    return 0 if asked_back and found.state == "rolled_back" else EXIT_CODES[found.state]


async def _done(subject: AutoPerformanceDiagnoser, resume: bool, undo: int | None) -> Fix:
    if resume and undo is not None:
        raise UsageError("--resume and --undo are two things", "Give one of them; --resume first.")
    if resume:
        return await subject.resume()
    return await (subject.undo(undo) if undo is not None else subject.fix())


def _config(reading: Reading, given: dict[str, Any]) -> LoopConfig:
    return LoopConfig(
        seconds=reading.seconds,
        interval_s=reading.interval_s,
        slo=reading.slo,
        access=reading.access,
        log=reading.log,
        server_args=reading.server_args,
        actuator=reading.actuator,
        arguments=tuple(shlex.split(given["arguments"])),
        apply=given["apply"],
        send_load=given["send_load"],
        canary=given["canary"],
        recheck=given["recheck"],
        gpu_hour=price_of(given["gpu_hour"]) if given["gpu_hour"] else None,
        protected=reading.protected,
        load=_load(given["clients"], given["rate"], given["send_load"]),
        budget_s=given["budget_s"] or LoopConfig().budget_s,
        store=given["store"],
    )


def _load(clients: int | None, rate: float | None, allowed: bool) -> LoadPlan | None:
    if clients is None and rate is None:
        return None
    if not allowed:
        raise UsageError("--clients and --rate send load", "Add --send-load to allow it.")
    return LoadPlan(clients=clients or 0, rate=rate or 0.0).check()


def _sayer(output: Output) -> Any:
    """Progress goes to the standard error, in the language of the answer."""

    def say(text: Text) -> None:
        click.echo(text.in_(output.lang), err=True)

    return say
