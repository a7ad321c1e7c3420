"""Processes that the terminal's Ctrl-C does not reach, not even while they load."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def shielded(*signals: signal.Signals) -> Iterator[None]:
    """What is started inside has ``signals`` blocked from its first instruction on: a mask is inherited, a handler is not.

    One that comes meanwhile for this process is taken when the block ends.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, signals)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
