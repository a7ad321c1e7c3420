"""``whystall diagnose``: what limits a server or a recording."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import click
import msgspec

from whystall import pipeline
from whystall.emulator.engine.profile import StepProfile
from whystall.errors import WhystallError
from whystall.model.diagnosis import Diagnosis, Verdict
from whystall.profiles.figures import TraceFigures
from whystall.reports import render
from whystall.reports.finding import Finding
from whystall.reports.redacted import redacted
from whystall.reports.several import several
from whystall.reports.text import brief
from whystall.sources.load_sharing import shares_load

from .collecting import recording_of, recordings_of
from .explaining import Explainer, explain_options
from .keeping import keep as keep_case
from .keeping import past_cases, require_writable, store_path
from .options import COMPANIONS, READING, STORE, output_options, reading_options
from .output import Output
from .reading import Asked

EXIT_CODES: dict[Verdict, int] = {"healthy": 0, "bottleneck": 1, "unknown": 3}


@click.command()
@click.argument("target")
@click.option(
    "--trace",
    "traces",
    type=click.Path(path_type=Path),
    multiple=True,
    help="A profile of the server; may be repeated.",
)
@click.option(
    "--baseline", metavar="TARGET", help="A healthy recording's folder or server: what is usual comes from it."
)
@click.option("--predict", is_flag=True, help="Predict what the first remedies would do; takes some seconds more.")
@click.option("--check", is_flag=True, help="Put each cause into the emulated server and take it out again (seconds).")
@click.option("--profile", default="", help="The emulated server for --check: see whystall emulate --help.")
@click.option("--redact", is_flag=True, help="Leave the names of requests, adapters and tenants out.")
@click.option("--keep", is_flag=True, help="Keep it as a case.")
@click.option("-v", "--verbose", is_flag=True, help="All evidence in a text, not only the most telling.")
@STORE
@explain_options
@reading_options(*READING, *COMPANIONS)
@output_options()
def diagnose(
    target: str,
    traces: tuple[Path, ...],
    baseline: str | None,
    predict: bool,
    check: bool,
    profile: str,
    redact: bool,
    keep: bool,
    verbose: bool,
    store: Path | None,
    explainer: Explainer,
    asked: Asked,
    output: Output,
) -> int:
    """Say what limits a server or a recording, since when, and what to change.

    TARGET is a server's address (http://host:8000), its name in whystall.toml, a recording's folder, a Prometheus
    (prometheus+http://host:9090?job=vllm), a Ray cluster's dashboard (ray+http://host:8265), a Kubernetes Deployment
    (k8s://namespace/deployment), or a ticket: a YAML file of numbers that somebody wrote down.
    The server is only read. Kept cases that look like this one are named. Exits 0 where it is healthy, 1 where a limit
    binds, 3 where it cannot be told.
    """
    output.check()
    reading, figures, emulated = asked.of(target), _figures(traces), _profile(profile)
    if keep:
        require_writable(store_path(store, asked.settings))
    past = past_cases(store, asked.settings, output.lang)
    healthy = pipeline.baselines_of(recording_of(asked.of(baseline), output.lang), reading.slo) if baseline else ()
    found = partial(
        pipeline.diagnose, slo=reading.slo, trace=figures, past=past, predicted=predict, check=check, profile=emulated
    )
    recordings = recordings_of(reading, output.lang)
    known = pipeline.replicas_of({name: shares_load(reading.target, name) for name in recordings}, recordings)
    finding = several({name: found(seen, healthy=healthy, replicas=known[name]) for name, seen in recordings.items()})
    finding = redacted(finding) if redact else finding
    unkept = _kept(finding.diagnosis, store_path(store, asked.settings), output.lang) if keep else None
    finding = msgspec.structs.replace(finding, diagnosis=explainer.diagnosis(finding.diagnosis, output.lang))
    _write(finding, output, verbose)
    return EXIT_CODES[finding.diagnosis.verdict] if unkept is None else unkept.exit_code


def _write(finding: Finding, output: Output, verbose: bool) -> None:
    """The report; of one that goes to a file the answer is seen at once, and stands where the file cannot be written."""
    if output.file is not None:
        click.echo(brief(finding.diagnosis, output.lang), nl=False, err=True)
    whole = verbose or output.file is not None
    output.write(render(finding, output.format, output.lang, output.width, output.colour, all_evidence=whole))


def _kept(diagnosis: Diagnosis, path: Path, lang: str) -> WhystallError | None:
    """What kept the case from being kept, told on the standard error: the look took its time, so its answer is given."""
    try:
        keep_case(diagnosis, path, lang)
    except WhystallError as error:
        click.echo(f"whystall: {error.message}\nhint: {error.hint}", err=True)
        return error
    return None


def _figures(traces: tuple[Path, ...]) -> TraceFigures | None:
    """The figures of the profiles that were named; read before the server is, so that a wrong file costs no time."""
    if not traces:
        return None
    from whystall.profiles.figures import trace_figures
    from whystall.profiles.files import TraceOptions, report_of

    return trace_figures(report_of(traces, TraceOptions()))


def _profile(name: str) -> StepProfile | None:
    """The profile of that name; read before the server is, so that a wrong name costs no time."""
    if not name:
        return None
    from whystall.emulator.profiles import load_profile

    return load_profile(name)
