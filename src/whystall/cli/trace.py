"""``whystall trace``: what profiler files and spans say of a step, a request, a rank."""

from __future__ import annotations

import contextlib
import re
from pathlib import Path

import click

from whystall.cli.fetching import fetched
from whystall.cli.options import ACCESS, output_options, reading_options
from whystall.cli.output import Output
from whystall.cli.reading import Asked
from whystall.errors import NotATrace, UsageError
from whystall.model.duration import parse_duration
from whystall.profiles.bytestream import ReadLimits
from whystall.profiles.chrome_export import ExportWindow, common_base, write_chrome
from whystall.profiles.diff import diff
from whystall.profiles.files import TraceOptions, read_file, read_timeline, report_of
from whystall.profiles.kernels import Classifier, read_patterns
from whystall.profiles.linked import LinkedTrace, link
from whystall.profiles.recognise import recognise
from whystall.profiles.report import TraceReport
from whystall.profiles.request_timeline import find_request, join_request
from whystall.profiles.spans import RequestTime, Span
from whystall.reports.json import to_json

_FILE = click.Path(path_type=Path)
_MAX_FILES = 1024  # looked at in a folder
_TIMELINES = ("pytorch", "nsys")


@click.command()
@click.argument("named", metavar="FILES...", nargs=-1, required=True)
@click.option(
    "--request", "request_id", metavar="ID", help="Follow one request, through a profile of the same time if given."
)
@click.option("--export", type=_FILE, help="Write the timeline to FILE as Chrome JSON, for ui.perfetto.dev.")
@click.option("--window", metavar="FROM-TO", help="Of --export: from and to after its start, as in 10ms-30ms.")
@click.option("--tensorboard", type=_FILE, help="Write a TensorBoard log folder.")
@click.option("--patterns", type=_FILE, help="A TOML file with your own kernel classes.")
@click.option("--ray", metavar="ADDRESS", help="Read the files by tasks of this Ray cluster.")
@click.option("--no-shapes", is_flag=True, help="Leave out the second pass that needs recorded shapes.")
@click.option("--max-bytes", type=click.IntRange(min=1), default=ReadLimits().max_bytes, help="Of text, of one file.")
@reading_options(*ACCESS)
@output_options(("text", "json", "markdown", "html"))
def trace(
    named: tuple[str, ...],
    request_id: str | None,
    export: Path | None,
    window: str | None,
    tensorboard: Path | None,
    patterns: Path | None,
    ray: str | None,
    no_shapes: bool,
    max_bytes: int,
    asked: Asked,
    output: Output,
) -> int:
    """Say where a step's, a request's or a rank's time went.

    FILES (or folders of them) are recognised by content: PyTorch profiler JSON (one per rank), Nsight Systems SQLite,
    Nsight Compute CSV, cProfile, speedscope, OpenTelemetry, Jaeger or Zipkin spans, a log with iteration lines, Ray's
    timeline of tasks, which ray+http://host:8265 gives, too.

    whystall trace diff A B compares two profiles, kernel by kernel and step by step.
    """
    output.check()
    options = TraceOptions(read_patterns(patterns) if patterns else (), ReadLimits(max_bytes=max_bytes), not no_shapes)
    with fetched(named, asked) as given:
        files = _files(given)
        if files[0] == Path("diff") and not files[0].exists():
            return _diff(files[1:], options, output)
        if request_id is not None:
            return _request(files, request_id, options, export, output)
        _write_exports(files, options, export, window, tensorboard)
        _write(report_of(files, options, ray), output)
    return 0


def _write(report: TraceReport, output: Output) -> None:
    """``report`` in the format that was asked for."""
    from whystall.reports.trace_text import render_trace, trace_markdown

    output.tell_first(lambda width: render_trace(report, output.lang, width, False))
    if output.format == "json":
        output.write(to_json(report, output.lang))
    elif output.format == "html":
        from whystall.reports.trace_html import trace_html

        output.write(trace_html(report, output.lang))
    elif output.format == "text":
        output.write(render_trace(report, output.lang, output.width, output.colour))
    else:
        output.write(trace_markdown(report, output.lang))


def _files(given: tuple[Path, ...]) -> tuple[Path, ...]:
    """The files named, and of a folder those in a format that is known."""
    found: list[Path] = []
    for path in given:
        found += _known(path) if path.is_dir() else [path]
    return tuple(found)


def _known(folder: Path) -> list[Path]:
    known = []
    for path in sorted(path for path in folder.iterdir() if path.is_file())[:_MAX_FILES]:
        with contextlib.suppress(NotATrace):
            recognise(path)
            known.append(path)
    if not known:
        raise NotATrace(
            f"{folder} holds no trace or profile", "vLLM writes *.pt.trace.json.gz into torch_profiler_dir."
        )
    return known


def _diff(files: tuple[Path, ...], options: TraceOptions, output: Output) -> int:
    if len(files) != 2:
        raise UsageError("trace diff needs two files", "Run: whystall trace diff BEFORE AFTER")
    sides = [read_file(path, options).report.timeline for path in files]
    if sides[0] is None or sides[1] is None:
        raise UsageError("trace diff compares timelines of kernels", "Give PyTorch or Nsight Systems files.")
    found = diff(sides[0], sides[1])
    if output.format == "json":
        output.write(to_json(found, output.lang))
    elif output.format == "text":
        from whystall.reports.trace_text import render_diff

        output.write(render_diff(found, output.lang, output.width, output.colour))
    else:
        raise UsageError(f"trace diff has no format {output.format}", "Use text or --json.")
    return 0


def _request(files: tuple[Path, ...], id: str, options: TraceOptions, export: Path | None, output: Output) -> int:
    spans, traces = _sorted(files, options)
    if not spans:
        raise UsageError(
            "--request needs spans, and a profile of the same time", "Run: whystall trace SPANS PROFILE --request ID"
        )
    request = find_request(spans, id)
    found = join_request(request, traces)
    if export is not None:
        _export(export, traces, (request,), ExportWindow())
    if output.format == "json":
        output.write(to_json(found, output.lang))
    else:
        from whystall.reports.trace_request import render_request

        output.write(render_request(found, output.lang, output.width, output.colour))
    return 0


def _sorted(files: tuple[Path, ...], options: TraceOptions) -> tuple[list[Span], list[LinkedTrace]]:
    """Files of spans and timelines apart."""
    spans: list[Span] = []
    traces: list[LinkedTrace] = []
    for path in files:
        if recognise(path) in _TIMELINES:
            traces.append(link(read_timeline(path, options.limits), Classifier(options.patterns)))
        else:
            spans.extend(read_file(path, options).spans)
    return spans, traces


def _write_exports(
    files: tuple[Path, ...], options: TraceOptions, export: Path | None, window: str | None, folder: Path | None
) -> None:
    if export is None and folder is None:
        return
    spans, traces = _sorted(files, options)
    from whystall.profiles.spans import summarise_spans

    requests = summarise_spans(spans).requests if spans else ()
    if not traces:
        raise UsageError("there is no timeline to export", "Give a PyTorch or Nsight Systems file.")
    if export is not None:
        start = 0 if common_base(traces, requests) else min(int(t.trace.work.start.min(initial=0)) for t in traces)
        _export(export, traces, requests, _window(window, start))
    if folder is not None:
        from whystall.profiles.tensorboard import write_tensorboard

        write_tensorboard(folder, traces, requests)


def _export(path: Path, traces: list[LinkedTrace], requests: tuple[RequestTime, ...], window: ExportWindow) -> None:
    try:
        with path.open("w", encoding="utf-8") as out:
            count = write_chrome(out, traces, requests, window)
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror}", "Choose another --export FILE.") from error
    click.echo(f"{path}: {count:,} events", err=True)


def _window(text: str | None, start: int) -> ExportWindow:
    if text is None:
        return ExportWindow()
    match = re.fullmatch(r"([^-]+)-([^-]+)", text.strip())
    if match is None:
        raise UsageError(f"--window: {text!r} is no window", "Write it as FROM-TO, as in 10ms-30ms.")
    begin, end = (round(parse_duration(part) * 1e9) for part in match.groups())
    if end <= begin:
        raise UsageError("--window: its end is not after its start", "Write it as FROM-TO, as in 10ms-30ms.")
    return ExportWindow(start + begin, start + end)
