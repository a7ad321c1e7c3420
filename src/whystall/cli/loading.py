"""Options that say which load is sent, and the permission to send it."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from whystall.emulator.engine.workload import LengthClass, read_trace
from whystall.errors import Refused, UsageError
from whystall.model.text import Text
from whystall.trials.load.plan import LoadPlan

from .options import Option, duration_option
from .reading import Reading

MAX_LENGTH = 1_000_000
_WILL_SEND = Text("will send to {target}: {load}, for {time}", "将向 {target} 发送：{load}，{time}")


def token_span(_: click.Context, param: click.Parameter, text: str) -> tuple[int, int]:
    """``500`` or ``200-800``."""
    low, _dash, high = text.partition("-")
    try:
        span = int(low), int(high or low)
    except ValueError as error:
        raise UsageError(f"{param.opts[0]}: {text!r} is no length", "Write 500 or 200-800.") from error
    if not 1 <= span[0] <= span[1] <= MAX_LENGTH:
        raise UsageError(f"{param.opts[0]}: {text!r} is out of range", f"Lengths are 1 to {MAX_LENGTH}, low to high.")
    return span


_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
_LOAD = (
    click.option("--rate", type=click.FloatRange(0, 100_000), default=0.0, help="Requests a second, Poisson."),
    click.option("--ramp-to", type=click.FloatRange(0, 100_000), help="The rate goes from --rate to this one."),
    click.option("--burst", type=click.IntRange(1, 10_000), default=1, help="Requests that come at once."),
    click.option("--clients", type=click.IntRange(0, 20_000), default=0, help="Clients that wait for their answers."),
    duration_option("--think", "think_s", "How long such a client waits before it asks again."),
    click.option("--prompt", default="200-800", show_default=True, callback=token_span, help="Prompt tokens."),
    click.option("--output-tokens", default="100-300", show_default=True, callback=token_span, help="Output tokens."),
    click.option("--shared-prefix", type=click.IntRange(0, MAX_LENGTH), default=0, help="Tokens all prompts share."),
    click.option(
        "--trace",
        type=_FILE,
        help="Replay a trace: Azure's CSV, Mooncake's JSON lines, or a recording's requests.jsonl.",
    ),
    click.option("--trace-speed", type=click.FloatRange(0.001, 1000), default=1.0, help="Times the trace's own speed."),
)
SEND_LOAD = click.option("--send-load", is_flag=True, help="Allow the load. Without it nothing is sent.")


def load_options(verb: Callable[..., Any]) -> Any:
    """Give a verb the parameter ``plan``, a :class:`~whystall.trials.load.plan.LoadPlan` (not checked yet)."""

    @functools.wraps(verb)
    def with_plan(*args: Any, **given: Any) -> Any:
        names = ("rate", "ramp_to", "burst", "clients", "think_s", "prompt", "output_tokens", "shared_prefix")
        values = {name: given.pop(name) for name in (*names, "trace", "trace_speed")}
        return verb(*args, plan=_plan(**values), **given)

    wrapped: Any = with_plan
    options: tuple[Option[Any], ...] = _LOAD
    for option in reversed(options):
        wrapped = option(wrapped)
    return wrapped


def _plan(
    *,
    rate: float,
    ramp_to: float | None,
    burst: int,
    clients: int,
    think_s: float | None,
    prompt: tuple[int, int],
    output_tokens: tuple[int, int],
    shared_prefix: int,
    trace: Path | None,
    trace_speed: float,
) -> LoadPlan:
    recorded = tuple(read_trace(trace)) if trace is not None else ()
    if trace is not None and not recorded:
        raise UsageError(f"{trace} holds no request", "Give a trace with at least one line of data.")
    return LoadPlan(
        mix=(LengthClass(1.0, prompt, output_tokens, shared_prefix=shared_prefix),),
        rate=rate,
        ramp_to=ramp_to,
        burst=burst,
        clients=clients,
        think_s=think_s or 0.0,
        recorded=recorded,
        speed=trace_speed,
    )


def allow_load(readings: tuple[Reading, ...], plan: LoadPlan, send_load: bool, time: str, lang: str) -> None:
    """Say on the standard error what will be sent. Raises Refused where it is not allowed, or a target is protected."""
    plan.check()
    for reading in readings:
        if reading.protected:
            raise Refused(
                f"{reading.name} is protected in the configuration, so it gets no load",
                "Send it to a replica that serves no users, or take it from `protected` in whystall.toml.",
            )
    targets = " / ".join(reading.target for reading in readings)
    told = _WILL_SEND.format(target=targets, load=plan.describe(), time=time).in_(lang)
    if not send_load:
        raise Refused(f"nothing was sent without --send-load; this {told}", "Add --send-load where those are yours.")
    click.echo(told, err=True)
