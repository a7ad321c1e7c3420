"""Files to results: one function for one file, run here, in several processes, or by Ray."""

from __future__ import annotations

import importlib
import os
import socket
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec

from whystall.errors import InputError, UsageError
from whystall.model.recording import InputWarning
from whystall.model.text import Text

from .analysis import summarise_linked, with_roofline
from .bytestream import ReadLimits
from .headline import headline
from .kernels import Classifier, KernelClass
from .kineto import read_kineto
from .linked import link
from .ranks import compare_ranks, rank_collectives
from .recognise import recognise
from .report import FileReport, FileResult, TraceReport
from .spans import summarise_spans
from .trace import Trace

_WORTH_A_PROCESS = 60 << 20  # of text: starting a process costs a quarter of a second, reading this much as well


class TraceOptions(msgspec.Struct, frozen=True):
    """How files are read. ``patterns`` are the user's kernel classes, before our own."""

    patterns: tuple[KernelClass, ...] = ()
    limits: ReadLimits = ReadLimits()
    roofline: bool = True


_SPANS = {
    "otlp": "read_otlp_json",
    "otlp_protobuf": "read_otlp_protobuf",
    "jaeger": "read_jaeger",
    "zipkin": "read_zipkin",
}
# The other readers of files that are no timeline: format to module, function and field of the report.
_OTHERS = {
    "iterations": ("iterations", "read_iteration_log", "iterations"),
    "ray_tasks": ("ray_tasks", "read_ray_tasks", "tasks"),
    "pstats": ("call_profiles", "read_pstats", "calls"),
    "speedscope": ("call_profiles", "read_speedscope", "calls"),
}


def _reader(module: str, function: str) -> Callable[..., Any]:
    """A reader, imported when its format turns up: most calls read one format, and start faster for it."""
    found: Callable[..., Any] = getattr(importlib.import_module(f"{__package__}.{module}"), function)
    return found


def read_timeline(path: Path, limits: ReadLimits | None = None) -> Trace:
    """A PyTorch or Nsight Systems file as a trace. Raises :class:`UsageError` for a file of another kind."""
    format = recognise(path)
    if format not in ("pytorch", "nsys"):
        raise UsageError(f"{path.name} ({format}) is no timeline of kernels", "Give a PyTorch or Nsight Systems file.")
    return _read_timeline(path, format, limits)


def _read_timeline(path: Path, format: str, limits: ReadLimits | None) -> Trace:
    if format == "pytorch":
        return read_kineto(path, limits)
    trace: Trace = _reader("nsys", "read_nsys")(path)
    return trace


def read_file(path: Path, options: TraceOptions) -> FileResult:
    """Recognise and analyse one file. Raises the errors of its reader."""
    format = recognise(path)
    if format in ("pytorch", "nsys"):
        return _timeline(path, format, options)
    if format in _SPANS:
        spans, warnings = _reader("span_files", _SPANS[format])(path)
        report = FileReport(path.name, format, spans=summarise_spans(spans), warnings=warnings)
        return FileResult(report, spans=tuple(spans))
    if format in ("ncu", "ncu_report"):
        read = _reader("ncu", "read_ncu_csv") if format == "ncu" else _reader("ncu_report", "read_ncu_report")
        return FileResult(FileReport(path.name, format, counters=read(path, Classifier(options.patterns))))
    module, function, field = _OTHERS[format]
    return FileResult(FileReport(path.name, format, **{field: _reader(module, function)(path)}))


def _timeline(path: Path, format: str, options: TraceOptions) -> FileResult:
    trace = _read_timeline(path, format, options.limits)
    linked = link(trace, Classifier(options.patterns))
    summary = summarise_linked(linked)
    if options.roofline and trace.header.get("record_shapes"):
        summary = with_roofline(summary, path, options.limits)
    report = FileReport(path.name, format, timeline=summary, warnings=trace.warnings)
    return FileResult(report, rank_collectives(linked))


Outcome = FileResult | InputError


def _attempt(path: Path, options: TraceOptions) -> Outcome:
    """The result, or the error as a value: one bad rank must not lose the others."""
    try:
        return read_file(path, options)
    except InputError as error:
        return error


def read_files(paths: Sequence[Path], options: TraceOptions, ray: str | None = None) -> list[Outcome]:
    """All files, in their order: by Ray tasks at ``ray``, else in as many processes as there are cores."""
    if ray is not None:
        return _by_ray(paths, options, ray)
    workers = min(len(paths), _cores())
    if workers < 2 or _text_bytes(paths) < _WORTH_A_PROCESS:
        return [_attempt(path, options) for path in paths]
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import get_context

    context = get_context("spawn")
    with ProcessPoolExecutor(workers, mp_context=context) as pool:
        return list(pool.map(_attempt, paths, [options] * len(paths)))


def _reach(address: str) -> None:
    """Fail at once where nothing listens; Ray itself tries for a minute and more."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if not host or not port.isdigit():
        return  # auto, local
    try:
        socket.create_connection((host, int(port)), timeout=5).close()
    except (OSError, OverflowError) as error:
        raise UsageError(f"no Ray cluster at {address}: {error}", "Give its address, as in --ray auto.") from error


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _text_bytes(paths: Sequence[Path]) -> int:
    """About how much text the files hold; traces compress some twelve times."""
    sizes = [(path.stat().st_size if path.is_file() else 0) * (12 if path.suffix == ".gz" else 1) for path in paths]
    return sum(sizes)


def _by_ray(paths: Sequence[Path], options: TraceOptions, address: str) -> list[Outcome]:
    """The same function as a Ray task per file. The files must be where the tasks run (a shared folder)."""
    try:
        module: Any = importlib.import_module("ray")
    except ImportError as error:
        raise UsageError("--ray needs Ray, which is not installed", "pip install 'whystall[ray]'") from error
    _reach(address)
    local = {"include_dashboard": False} if address == "local" else {}
    try:
        module.init(address=address, log_to_driver=False, logging_level="ERROR", **local)
    except (ConnectionError, ValueError, RuntimeError) as error:
        raise UsageError(f"no Ray cluster at {address}: {error}", "Give its address, as in --ray auto.") from error
    try:
        task: Callable[..., Any] = module.remote(_attempt)
        return list(module.get([task.remote(path.resolve(), options) for path in paths]))  # type: ignore[attr-defined]
    finally:
        module.shutdown()


def report_of(paths: Sequence[Path], options: TraceOptions, ray: str | None = None) -> TraceReport:
    """The whole report. A file that cannot be read is named in ``failed``; when none can, its error is raised."""
    report, _ = report_and_results(paths, options, ray)
    return report


def report_and_results(
    paths: Sequence[Path], options: TraceOptions, ray: str | None = None
) -> tuple[TraceReport, list[FileResult]]:
    """As :func:`report_of`, with the results that a joined timeline needs."""
    outcomes = read_files(paths, options, ray)
    results = [outcome for outcome in outcomes if isinstance(outcome, FileResult)]
    errors = [outcome for outcome in outcomes if isinstance(outcome, InputError)]
    if not results:
        raise errors[0]
    failed = tuple(
        InputWarning("not_read", Text(outcome.message), path.name)
        for path, outcome in zip(paths, outcomes, strict=True)
        if isinstance(outcome, InputError)
    )
    ranks = compare_ranks([result.collectives for result in results if result.collectives is not None])
    files = tuple(result.report for result in results)
    return TraceReport(headline(files, ranks), files, ranks, failed), results
