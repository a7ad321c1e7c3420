"""SIGTERM does what Ctrl-C does: what is to be put right is put right, then the process dies of it."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from whystall.cli.ending import ended_by_sigterm


@pytest.mark.parametrize("ctrl_c", [signal.default_int_handler, signal.SIG_IGN], ids=["in front", "in the background"])
def test_it_interrupts_what_runs_and_is_remembered(ctrl_c) -> None:
    before_int, before_term = signal.signal(signal.SIGINT, ctrl_c), signal.getsignal(signal.SIGTERM)
    try:
        with ended_by_sigterm() as ending, pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGTERM)
        assert ending.told
    finally:
        signal.signal(signal.SIGINT, before_int)
        signal.signal(signal.SIGTERM, before_term)


def test_without_it_nothing_is_changed() -> None:
    before = signal.getsignal(signal.SIGTERM)
    with ended_by_sigterm() as ending:
        assert signal.getsignal(signal.SIGTERM) is not before
    assert signal.getsignal(signal.SIGTERM) is before
    assert not ending.told


def at_a_terminal() -> None:
    """What runs in the background has Ctrl-C ignored, and hands that on to its children."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.mark.parametrize(("sent", "code"), [(signal.SIGTERM, -signal.SIGTERM), (signal.SIGINT, 130)])
def test_a_verb_says_so_and_dies_of_it(sent: signal.Signals, code: int, data: Path) -> None:
    command = [sys.executable, "-m", "whystall", "replay", str(data / "recordings" / "healthy"), "--port", "0"]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, preexec_fn=at_a_terminal
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline().startswith("http://127.0.0.1:")
        process.send_signal(sent)
        _, said = process.communicate(timeout=60)
    finally:
        process.kill()
        process.wait()
    assert process.returncode == code
    assert said == "whystall: interrupted\n"
