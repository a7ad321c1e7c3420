"""SIGTERM ends a verb as Ctrl-C does: a change under trial is taken back, a profiler window closed, a folder removed."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress


class Ending:
    """Whether SIGTERM came."""

    told = False


@contextmanager
def ended_by_sigterm() -> Iterator[Ending]:
    """Let SIGTERM do what Ctrl-C does, where nobody handles it otherwise; a second one ends the process at once."""
    ending = Ending()

    def end(*_: object) -> None:
        ending.told = True
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        if callable(signal.getsignal(signal.SIGINT)):
            signal.raise_signal(signal.SIGINT)  # an event loop has its own way to stop for it
        else:
            raise KeyboardInterrupt  # a shell's background job ignores Ctrl-C, and is not to ignore this

    before = signal.signal(signal.SIGTERM, end)
    try:
        yield ending
    finally:
        if signal.getsignal(signal.SIGTERM) is end:
            signal.signal(signal.SIGTERM, before)


def end_by_sigterm() -> None:
    """Die of it, now that all is put right: who sent it (systemd, a shell, CI) sees that it did what it was told."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.raise_signal(signal.SIGTERM)
