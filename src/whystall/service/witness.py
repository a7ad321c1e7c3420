"""What tells of a server beside its page: its log, the kernel's, GPUs, host, spans; the last minutes of each."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

import msgspec

from whystall.model.recording import InputWarning, LogLine, Recording, SpanRow
from whystall.model.text import Text
from whystall.sources.gpu import GpuRow, gpu_columns
from whystall.sources.hardware.columns import gpu_of, host_of
from whystall.sources.hardware.dcgm import xid_lines
from whystall.sources.hardware.joined import joined
from whystall.sources.host import HostRow, host_columns

from .kept_log import KeptLog
from .links import Links
from .window import Window

MOST_SPANS = 20_000
KEPT_S = 1_000.0  # a little more than the longest window
_AWAY = Text("{what} tells nothing: {why}", "{what} 没有数据：{why}")


class Witness:
    """Filled by the loops beside the scraping, read when a recording is made. Empty for a server with a page alone."""

    def __init__(self) -> None:
        self.log = KeptLog()
        self.kernel: deque[LogLine] = deque(maxlen=1_000)
        self.exporters: dict[str, Window] = {}
        self.gpu_rows: deque[GpuRow] = deque(maxlen=50_000)
        self.host_rows: deque[HostRow] = deque(maxlen=5_000)
        self.spans: deque[SpanRow] = deque(maxlen=MOST_SPANS)
        self.away: dict[str, Text] = {}  # what was named and does not answer, and why
        self.argv: tuple[str, ...] = ()
        self.links = Links()
        self.host = "-"  # the server's; "" once it is known to be this one, from which all ways begin
        self._loud = False
        self._told: Recording | None = None

    @property
    def loud(self) -> bool:
        """Whether something was said since :meth:`heard` that somebody should look into."""
        return self.log.loud or self._loud

    def heard(self) -> None:
        """The look for it is under way."""
        self.log.loud = self._loud = False

    def add_kernel(self, lines: Iterable[LogLine]) -> None:
        """Lines of a GPU fault or of a process killed for memory."""
        for line in lines:
            self.kernel.append(line)
            self._loud = True

    def tell(self, recording: Recording) -> None:
        """What a source that tells of all at once (a Prometheus, a cluster) knew of GPUs, host and kernel just now."""
        known = self._told
        self._told = recording if known is None else _joined(known, recording)
        newest = self.kernel[-1].t if self.kernel else None
        self.add_kernel(
            line
            for line in recording.log
            if line.process == "kernel" and (newest is None or (line.t is not None and line.t > newest))
        )

    def forget(self, before: float) -> None:
        """Let go of what is older than ``before`` (unix seconds)."""
        self.log.forget(before)
        for window in self.exporters.values():
            window.forget(before)
        for rows in (self.gpu_rows, self.host_rows):
            while rows and rows[0].t < before:
                rows.popleft()
        while self.spans and self.spans[0].end < before:
            self.spans.popleft()

    def beside(self, recording: Recording, start: float) -> Recording:
        """``recording`` with what is known here from ``start`` on (unix seconds)."""
        tables = [window.table(start) for window in self.exporters.values()]
        told = self._told
        gpu = gpu_columns([row for row in self.gpu_rows if row.t >= start])
        gpu = gpu or next((seen for table in tables if (seen := gpu_of(table)) is not None), None)
        host = host_columns([row for row in self.host_rows if row.t >= start])
        host = host or next((known for table in tables if (known := host_of(table)) is not None), None)
        kernel = (line for line in self.kernel if line.t is None or line.t >= start)
        faults = (line for table in tables for line in xid_lines(table))
        return msgspec.structs.replace(
            recording,
            gpu=gpu or (told.gpu if told else None),
            host=host or (told.host if told else None),
            log=(*recording.log, *self.log.since(start), *kernel, *faults),
            spans=tuple(span for span in self.spans if span.end >= start),
            argv=recording.argv or self.argv,
            links=self.links.columns(start, self.host),
            warnings=(*recording.warnings, *(told.warnings if told else ()), *self._warnings()),
        )

    def _warnings(self) -> tuple[InputWarning, ...]:
        return tuple(
            InputWarning("companion_away", _AWAY.format(what=what, why=why)) for what, why in sorted(self.away.items())
        )


def _joined(known: Recording, new: Recording) -> Recording:
    gpu = joined(known.gpu, new.gpu, KEPT_S)
    host = joined(known.host, new.host, KEPT_S)
    return msgspec.structs.replace(new, gpu=gpu, host=host)
