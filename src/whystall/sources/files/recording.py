"""A recording folder, or a metrics file alone, to a :class:`Recording`."""

from __future__ import annotations

import math
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import numpy as np

from whystall.errors import InputError, NotARecording
from whystall.model.recording import Health, InputWarning, LogLine, Recording, SeriesTable, SpanRow
from whystall.model.target import Target
from whystall.sources.client import RequestRow, client_columns
from whystall.sources.dialects import quantity
from whystall.sources.gpu import GpuRow, gpu_columns
from whystall.sources.host import HostRow, host_columns
from whystall.sources.links import LinkRow, link_columns
from whystall.sources.log import read_dated_log
from whystall.sources.log_clock import LogAnchor
from whystall.sources.spans import ExportRow, request_spans

from .clock import risen
from .json_lines import Row, read_rows
from .kernel_log import read_kernel_log
from .log_file import read_log_file
from .metrics import read_metrics
from .notices import notice
from .stream import read_all

METRICS = ("metrics.prom", "metrics.txt", "metrics")
_ROWS_LIMIT = 2 * 1024**3
_TEXT_LIMIT = 16 * 1024**2
_HINT = "Make one with: whystall record http://HOST:8000 -o FOLDER --for 60s"

_NAMED = 8  # recordings that a hint names

Timed = TypeVar("Timed", GpuRow, HostRow)


def read_recording(path: Path) -> Recording:
    """Reads what ``whystall record`` writes; any file may be plain or gzip, of several members, or cut short.

    Only the metrics must be there. What else cannot be read is left out with a warning. Raises :class:`NotARecording`
    where there are no metrics, :class:`NotMetrics` where they are none, :class:`TooLarge` over the limits.
    """
    folder = _Folder(path)
    metrics = read_metrics(folder.metrics)
    table = metrics.table
    folder.warnings += metrics.warnings
    return Recording(
        target=Target(str(path), "recording"),
        metrics=table,
        gpu=gpu_columns(folder.timed("gpu.jsonl", GpuRow)),
        host=host_columns(folder.timed("host.jsonl", HostRow)),
        client=client_columns(folder.rows("requests.jsonl", RequestRow)),
        log=(*folder.log("server.log", log_anchor(table)), *folder.kernel("kernel.log")),
        spans=folder.spans("spans.jsonl"),
        server_info=folder.text("server_info.json"),
        version=version_of(folder.text("version.json")),
        models=folder.text("models.json"),
        argv=argv_of(folder.text("argv.json")),
        health=tuple(folder.rows("health.jsonl", Health)),
        links=link_columns([row for row in folder.rows("links.jsonl", LinkRow) if math.isfinite(row.t)]),
        warnings=tuple(folder.warnings),
    )


def version_of(body: str) -> str:
    """The version that a body of ``/version`` gives; "" where it gives none."""
    found = _decoded(body, dict[str, Any])
    version = found.get("version") if found else None
    return version if isinstance(version, str) else ""


def argv_of(text: str) -> tuple[str, ...]:
    """A command line from JSON (a list, or an object with ``argv``) or as it stands in a shell."""
    found = _decoded(text, list[str] | dict[str, Any] | str)
    if isinstance(found, dict):
        words = found.get("argv")
        return argv_of(msgspec.json.encode(words).decode()) if isinstance(words, list | str) else ()
    if isinstance(found, list):
        return tuple(found)
    try:
        return tuple(shlex.split(found if isinstance(found, str) else text))
    except ValueError:  # a quote that does not end
        return tuple(text.split())


def log_anchor(table: SeriesTable) -> LogAnchor:
    """When the recording ran and when the server started, to find the log's time zone."""
    starts = [row for row, key in enumerate(table.keys) if _is_start(key.name)]
    seen = table.values[starts][np.isfinite(table.values[starts])] if starts else np.zeros(0)
    start = float(seen[-1]) if len(seen) else math.nan
    asked = [*map(float, table.times), *(scrape.t for scrape in table.failed)]
    return LogAnchor(min(asked, default=0.0), max(asked, default=0.0), start)


def _is_start(name: str) -> bool:
    known = quantity(name)
    return known is not None and known.name == "process_start_time_seconds"


def _decoded(text: str, kind: Any) -> Any:
    try:
        return msgspec.json.decode(text, type=kind) if text.strip() else None
    except (msgspec.DecodeError, RecursionError):
        return None


def _recordings_below(folder: Path) -> str:
    """A hint that names the recordings in ``folder``; "" where there are none."""
    found = sorted(path.parent.name for name in METRICS for path in folder.glob(f"*/{name}*") if path.is_file())
    names = list(dict.fromkeys(found))
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return f"It holds recordings; name one: {', '.join(names[:_NAMED])}{more}" if names else ""


class _Folder:
    """The files of one recording; collects the warnings of those that are read."""

    def __init__(self, path: Path) -> None:
        self.warnings: list[InputWarning] = []
        if path.is_dir():
            self._folder: Path | None = path
            self.metrics = self._metrics(path)
        elif path.is_file():
            self._folder = None  # a metrics file alone
            self.metrics = path
        elif path.exists():  # <(curl …) and the like
            raise NotARecording(f"{path} is a pipe or a device", "Write what comes out of it to a file, and give that.")
        else:
            raise NotARecording(f"there is no file or folder {path}", _HINT)

    def _metrics(self, folder: Path) -> Path:
        found = next((path for name in METRICS if (path := self._find(name)) is not None), None)
        if found is None:
            holds = "is empty" if not any(folder.iterdir()) else "has no metrics.prom or metrics.prom.gz"
            below = _recordings_below(folder)
            raise NotARecording(f"the folder {folder} {holds}", below or _HINT)
        return found

    def _find(self, name: str) -> Path | None:
        """The file, plain or gzip; the longer one where a recorder was stopped between the two."""
        if self._folder is None:
            return None
        there = [path for path in (self._folder / name, self._folder / f"{name}.gz") if path.is_file()]
        return max(there, key=lambda path: path.stat().st_size, default=None)

    def _read(self, name: str, read: Callable[[Path], Any], otherwise: Any) -> Any:
        path = self._find(name)
        if path is None:
            return otherwise
        try:
            return read(path)
        except InputError as error:  # too large or unreadable: the rest of the recording still counts
            self.warnings.append(notice("unreadable_file", path.name, first=error.message))
            return otherwise

    def rows(self, name: str, kind: type[Row]) -> list[Row]:
        """The lines of a JSON lines file."""
        found: list[Row] = self._read(name, lambda path: self._rows(path, kind), [])
        return found

    def _rows(self, path: Path, kind: type[Row]) -> list[Row]:
        found = read_rows(path, kind, _ROWS_LIMIT)
        self._about(path, found.truncated, found.damaged)
        if found.bad_lines:
            self.warnings.append(notice("bad_lines", path.name, count=found.bad_lines))
        return found.rows

    def timed(self, name: str, kind: type[Timed]) -> list[Timed]:
        """Lines with a time that must rise."""
        rows = [row for row in self.rows(name, kind) if math.isfinite(row.t)]
        times, steps = risen(np.array([row.t for row in rows], dtype=np.float64))
        if steps:
            self.warnings.append(notice("clock_step", name, count=steps))
            rows = [msgspec.structs.replace(row, t=float(t)) for row, t in zip(rows, times, strict=True)]
        return rows

    def spans(self, name: str) -> tuple[SpanRow, ...]:
        """The request spans of all exports, by their end."""
        found = [span for export in self.rows(name, ExportRow) for span in request_spans(export)]
        return tuple(sorted(found, key=lambda span: span.end))

    def text(self, name: str) -> str:
        """The whole of a small file; "" where it is missing."""
        found: str = self._read(name, self._text, "")
        return found

    def _text(self, path: Path) -> str:
        data, stream = read_all(path, _TEXT_LIMIT)
        self._about(path, stream.truncated, stream.damaged)
        return data.decode("utf-8", "replace")

    def log(self, name: str, anchor: LogAnchor) -> tuple[LogLine, ...]:
        found: tuple[LogLine, ...] = self._read(name, lambda path: self._log(path, anchor), ())
        return found

    def kernel(self, name: str) -> tuple[LogLine, ...]:
        """The lines of the kernel's log that a diagnosis can use."""
        found: tuple[LogLine, ...] = self._read(name, lambda path: read_kernel_log(path), ())
        return found

    def _log(self, path: Path, anchor: LogAnchor) -> tuple[LogLine, ...]:
        log = read_log_file(path)
        self._about(path, log.truncated, log.damaged)
        self.warnings += log.warnings
        lines, fitted = read_dated_log(log.lines, anchor)
        if fitted:
            self.warnings.append(notice("log_clock", path.name))
        return lines

    def _about(self, path: Path, truncated: bool, damaged: bool) -> None:
        if truncated:
            self.warnings.append(notice("truncated_gzip", path.name))
        if damaged:
            self.warnings.append(notice("damaged_gzip", path.name))
