"""The kernel's log, as ``journalctl -k`` or ``dmesg`` print it: Xids of the GPU's driver, processes killed for memory."""

from __future__ import annotations

import os
import re
import stat
import time
from collections.abc import Iterable, Iterator
from datetime import datetime
from pathlib import Path

from whystall.errors import InputError
from whystall.model.recording import LogLine

from .log_file import read_log_file

# What a diagnosis can use; the other lines may tell of things that are nobody's business.
_KEPT = (
    "NVRM: Xid",
    "Out of memory: Killed process",
    "Memory cgroup out of memory: Killed process",
    "oom-kill:constraint=",
)
_ISO = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?:Z|[+-]\d\d:?\d\d)) (?:\S{1,255} kernel: )?(.*)\Z")
_DATED = re.compile(r"\[(\w{3} \w{3} [ \d]\d \d\d:\d\d:\d\d \d{4})\] (.*)\Z")
_SINCE_BOOT = re.compile(r"(?:\S{0,60} )?(?:kernel: )?\[ {0,8}(\d{1,10}\.\d{1,9})\] (.*)\Z")
# What syslog daemons write by default: the year is missing, the zone is the host's.
_SYSLOG = re.compile(r"(\w{3} [ \d]\d \d\d:\d\d:\d\d) \S{1,255} kernel: (?:\[ {0,8}\d{1,10}\.\d{1,9}\] )?(.*)\Z")
_BARE = re.compile(r"NVRM: Xid \([^()\n]{1,60}\): \d{1,6}")
_RECORD, _MOST_RECORDS = 8192, 100_000
_RIGHT = "run as root or with CAP_SYSLOG, or name a file: journalctl -k -o short-iso"
_FORM = "save it with journalctl -k -o short-iso, or dmesg --time-format iso"


def read_kernel_log(path: Path, boot: float | None = None) -> tuple[LogLine, ...]:
    """The lines that tell of a GPU fault or of a process killed for memory.

    Times with a zone are taken as they stand, ``dmesg -T``'s in this host's zone; seconds since the start are counted from
    ``boot`` (unix seconds), and without it such a line has no time. Raises InputError where no line has any of these forms.
    """
    if is_kernel_ring(path):
        with KernelRing(path) as ring:
            return tuple(ring.more(boot))
    lines = [line for line in read_log_file(path).lines if line.strip()]
    told = [found for line in lines if (found := _told(line[:4000], boot)) is not None]
    if lines and not told:
        raise InputError(f"{path} is no log of the kernel", _FORM)
    return tuple(_kept(told))


def kernel_lines(lines: Iterable[str], boot: float | None = None) -> tuple[LogLine, ...]:
    """As :func:`read_kernel_log`, of lines that were just written; those of another form are left out."""
    return tuple(_kept([found for line in lines if (found := _told(line[:4000], boot)) is not None]))


def bare(text: str) -> str:
    """A kept line with no more than the fault: no process, no host."""
    found = _BARE.match(text)
    return found[0] if found else next((mark for mark in _KEPT if text.startswith(mark)), "")


def is_kernel_ring(path: Path) -> bool:
    """Whether ``path`` is a device such as ``/dev/kmsg``, which gives a record at each reading."""
    try:
        return stat.S_ISCHR(path.stat().st_mode)
    except OSError:
        return False


class KernelRing:
    """The kernel's own ring of messages (``/dev/kmsg``), read without waiting; a context manager."""

    def __init__(self, path: Path) -> None:
        """Raises InputError where it cannot be read, which needs a right that the host may not give."""
        try:
            self._file = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        except OSError as error:
            raise InputError(f"{path} cannot be read: {error.strerror}", _RIGHT) from None

    def more(self, boot: float | None) -> Iterator[LogLine]:
        """The records since the last call that a diagnosis can use."""
        for _ in range(_MOST_RECORDS):
            try:
                record = os.read(self._file, _RECORD)
            except BrokenPipeError:  # the ring has gone round; the next record is there
                continue
            except OSError:  # nothing new
                return
            if not record:
                return
            yield from _kept([_of_ring(record.decode("utf-8", "replace"), boot)])

    def close(self) -> None:
        os.close(self._file)

    def __enter__(self) -> KernelRing:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _of_ring(record: str, boot: float | None) -> tuple[float | None, str]:
    """ "6,1234,5678901,-;text": level, number, microseconds since the start."""
    head, _, text = record.partition(";")
    fields = head.split(",")
    us = fields[2] if len(fields) > 2 else ""
    known = boot is not None and us.isascii() and us.isdigit()
    return (boot + int(us) / 1e6 if known and boot is not None else None), text.partition("\n")[0]


def _told(line: str, boot: float | None) -> tuple[float | None, str] | None:
    if syslog := _SYSLOG.match(line):
        return _this_year(syslog[1]), syslog[2]
    if iso := _ISO.match(line):
        return _moment(iso[1]), iso[2]
    if dated := _DATED.match(line):
        return _local(dated[1]), dated[2]
    if since := _SINCE_BOOT.match(line):
        return (None if boot is None else boot + float(since[1])), since[2]
    return None


def _kept(told: list[tuple[float | None, str]]) -> Iterator[LogLine]:
    for t, text in told:
        place = min((at for mark in _KEPT if (at := text.find(mark)) >= 0), default=-1)
        if place >= 0:
            yield LogLine(t, "ERROR", "kernel", None, text[place:])


def _moment(text: str) -> float | None:
    try:
        return datetime.fromisoformat(text.replace(",", ".")).timestamp()
    except ValueError:
        return None


def _this_year(text: str) -> float | None:
    """The last time that it was so."""
    year = time.localtime().tm_year
    found = [_local(f"Mon {text} {year - back}") for back in (0, 1)]
    return next((t for t in found if t is not None and t < time.time() + 86_400.0), None)


def _local(text: str) -> float | None:
    try:
        return time.mktime(time.strptime(text, "%a %b %d %H:%M:%S %Y"))
    except (ValueError, OverflowError):
        return None
