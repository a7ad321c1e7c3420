"""A recording's folder while it is written: what was scraped is on disk when the scrape is done."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType

import msgspec

from whystall.errors import UsageError
from whystall.model.recording import Health, LogLine, SpanRow
from whystall.sources.files.kernel_log import bare
from whystall.sources.links import LinkRow
from whystall.sources.spans import span_export

from .facts import ServerFacts
from .gzip_stream import GzipStream, not_writable
from .redaction import Redactor
from .sink import Row, Sink

FILES = (
    "metrics.prom.gz",
    "gpu.jsonl.gz",
    "host.jsonl.gz",
    "server.log.gz",
    "kernel.log.gz",
    "spans.jsonl.gz",
    "links.jsonl.gz",
    "health.jsonl.gz",
    "server_info.json",
    "version.json",
    "models.json",
    "argv.json",
)
# A page could otherwise forge the line that begins the next scrape.
_FORGED = re.compile(rb"^# scrape ", re.MULTILINE)

_NAME = re.compile(r"\w+")


class Recorder(Sink):
    """A :class:`~.sink.Sink` that writes the folder layout of a recording; a context manager.

    With a ``redactor`` nothing is written that went past it.
    """

    def __init__(self, folder: Path, redactor: Redactor | None = None, force: bool = False) -> None:
        """Raises UsageError where ``folder`` holds something already, and NotWritable where it cannot be made."""
        self.folder = folder
        self._redactor = redactor
        self._streams: dict[str, GzipStream] = {}
        self._half_line = b""
        self._pages = 0
        self._made = not folder.exists()
        _prepare(folder, force)
        self._stream("metrics.prom.gz")

    def facts(self, facts: ServerFacts) -> None:
        kept = self._redactor.facts(facts) if self._redactor else facts
        self._file("version.json", kept.version)
        self._file("models.json", kept.models)
        self._file("server_info.json", kept.server_info)

    def argv(self, argv: tuple[str, ...]) -> None:
        kept = self._redactor.argv(argv) if self._redactor else argv
        self._file("argv.json", json.dumps(kept) if kept else "")

    def page(self, t: float, body: bytes) -> None:
        kept = self._redactor.page(body) if self._redactor else body
        if b"# scrape " in kept:
            kept = _FORGED.sub(b"# ", kept)
        end = b"" if kept.endswith(b"\n") else b"\n"
        self._pages += 1
        self._stream("metrics.prom.gz").write(b"# scrape %.3f\n%b%b" % (t, kept, end))

    def failed(self, t: float, error: str) -> None:
        word = _NAME.match(error)
        self._stream("metrics.prom.gz").write(f"# scrape {t:.3f} failed {word[0] if word else 'Failed'}\n".encode())

    def health(self, health: Health) -> None:
        self._rows("health.jsonl.gz", [{"t": health.t, "status": health.status}])

    def gpu(self, rows: list[Row]) -> None:
        self._rows("gpu.jsonl.gz", rows)

    def host(self, row: Row) -> None:
        self._rows("host.jsonl.gz", [row])

    def spans(self, rows: list[SpanRow]) -> None:
        """Request spans as an OTLP export, a line a call."""
        kept = [self._redactor.span(row) for row in rows] if self._redactor else rows
        self._rows("spans.jsonl.gz", [span_export(kept)] if kept else [])

    def links(self, rows: list[LinkRow]) -> None:
        """Rounds of probes to other hosts."""
        kept = [self._redactor.link(row) for row in rows] if self._redactor else rows
        self._rows("links.jsonl.gz", [msgspec.to_builtins(row) for row in kept])

    def kernel(self, lines: list[LogLine]) -> None:
        """Lines of a GPU fault or of a process killed for memory; without names of processes where names are taken out."""
        told = [(line.t, bare(line.text) if self._redactor else line.text) for line in lines if line.t is not None]
        text = "".join(f"{datetime.fromtimestamp(t, UTC).isoformat()} host kernel: {said}\n" for t, said in told)
        self._stream("kernel.log.gz").write(text.encode())

    def log(self, chunk: bytes) -> None:
        if not self._redactor:
            self._stream("server.log.gz").write(chunk)
            return
        whole, _, self._half_line = (self._half_line + chunk).rpartition(b"\n")
        self._redacted(whole)

    def _redacted(self, text: bytes) -> None:
        """Whole lines only: half a name would not be found."""
        if not text or self._redactor is None:
            return
        lines = map(self._redactor.log_line, text.decode("utf-8", "replace").split("\n"))
        kept = "".join(f"{line}\n" for line in lines if line is not None)
        self._stream("server.log.gz").write(kept.encode())

    def _rows(self, name: str, rows: list[Row]) -> None:
        self._stream(name).write("".join(f"{json.dumps(row)}\n" for row in rows).encode())

    def _stream(self, name: str) -> GzipStream:
        if name not in self._streams:
            self._streams[name] = GzipStream(self.folder / name)
        return self._streams[name]

    def _file(self, name: str, text: str) -> None:
        if not text:
            return
        path = self.folder / name
        try:
            path.write_text(text, encoding="utf-8", errors="replace")
        except OSError as error:
            raise not_writable(path, error) from None

    def close(self) -> None:
        """Ends every file. Raises NotWritable."""
        self._redacted(self._half_line)
        self._half_line = b""
        for stream in self._streams.values():
            stream.close()

    def __enter__(self) -> Recorder:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
        if error is not None and not self._pages:
            self._leave_nothing()

    def _leave_nothing(self) -> None:
        """Takes back what holds no page, so that the next attempt needs no ``--force``."""
        for name in self._streams:
            (self.folder / name).unlink(missing_ok=True)
        if self._made and not any(self.folder.iterdir()):
            self.folder.rmdir()


def _prepare(folder: Path, force: bool) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        there = [path.name for path in folder.iterdir()]
        if there and not force:
            raise UsageError(
                f"the folder {folder} holds {there[0]!r} and maybe more already",
                "choose another folder with -o, or --force to write over the recording in it",
            )
        for name in FILES:
            # Also the other form: a reader that found both would take the old one for part of this recording.
            for path in (folder / name, folder / name.removesuffix(".gz")):
                path.unlink(missing_ok=True)
    except OSError as error:
        raise not_writable(folder, error) from None
