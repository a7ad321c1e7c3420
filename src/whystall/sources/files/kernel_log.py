"""The kernel's log, as ``journalctl -k`` or ``dmesg`` print it: Xids of the GPU's driver, processes killed for memory."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
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
_FORM = "save it with journalctl -k -o short-iso, or dmesg --time-format iso"


def read_kernel_log(path: Path, boot: float | None = None) -> tuple[LogLine, ...]:
    """The lines that tell of a GPU fault or of a process killed for memory.

    Times with a zone are taken as they stand, ``dmesg -T``'s in this host's zone; seconds since the start are counted from
    ``boot`` (unix seconds), and without it such a line has no time. Raises InputError where no line has any of these forms.
    """
    lines = [line for line in read_log_file(path).lines if line.strip()]
    told = [found for line in lines if (found := _told(line[:4000], boot)) is not None]
    if lines and not told:
        raise InputError(f"{path} is no log of the kernel", _FORM)
    return tuple(_kept(told))


def _told(line: str, boot: float | None) -> tuple[float | None, str] | None:
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


def _local(text: str) -> float | None:
    try:
        return time.mktime(time.strptime(text, "%a %b %d %H:%M:%S %Y"))
    except (ValueError, OverflowError):
        return None
