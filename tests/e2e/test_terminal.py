"""What a person sees in a terminal, and what a pipe gets."""

import os
import pty
import re
import subprocess
import sys
from pathlib import Path

RECORDING = Path(__file__).resolve().parents[1] / "data" / "recordings" / "seq_cap"
COLOUR = re.compile(r"\x1b\[[0-9;]*[0-9]m")


def in_terminal(arguments: list[str], **environ: str) -> str:
    """What ``whystall`` writes to a terminal of 80 columns, both streams in one."""
    ours, theirs = pty.openpty()
    env = {key: value for key, value in os.environ.items() if key not in ("NO_COLOR", "CI")}
    env |= {"TERM": "xterm-256color", "COLUMNS": "80", "WHYSTALL_LANG": "en", **environ}
    process = subprocess.Popen(
        [sys.executable, "-m", "whystall", *arguments], stdin=theirs, stdout=theirs, stderr=theirs, env=env
    )
    os.close(theirs)
    parts = []
    try:
        while part := os.read(ours, 65536):
            parts.append(part)
    except OSError:  # how Linux says that the other end is closed
        pass
    os.close(ours)
    process.wait()
    return b"".join(parts).decode().replace("\r\n", "\n")


def test_the_answer_stands_in_the_first_three_lines() -> None:
    shown = COLOUR.sub("", in_terminal(["diagnose", str(RECORDING)]))
    lines = shown.splitlines()
    assert lines[0].startswith("✘ BOTTLENECK")
    assert max(map(len, lines)) <= 80
    assert "Do first:" in "\n".join(lines[:8])


def test_colours_are_for_terminals_and_those_who_want_them() -> None:
    assert COLOUR.search(in_terminal(["diagnose", str(RECORDING)]))
    plain = in_terminal(["diagnose", str(RECORDING)], NO_COLOR="1")
    assert "\x1b" not in plain
    piped = subprocess.run(
        [sys.executable, "-m", "whystall", "diagnose", str(RECORDING), "--lang", "en"], capture_output=True, check=False
    )
    assert (piped.returncode, piped.stderr) == (1, b"")
    assert b"\x1b" not in piped.stdout
    assert piped.stdout.decode().splitlines() == plain.splitlines()


def test_a_live_reading_shows_how_far_it_is(free_port) -> None:
    port = free_port()
    command = [sys.executable, "-m", "whystall", "replay", str(RECORDING), "--port", str(port), "--speed", "20"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            url = server.stdout.readline().strip()
            shown = in_terminal(["diagnose", url, "--for", "38s"])
        finally:
            server.terminate()
    assert "looking" in shown
    assert re.search(r"\d+ scrapes", shown)
    assert "BOTTLENECK" in shown


def test_an_error_is_two_lines() -> None:
    shown = in_terminal(["diagnose", "./nowhere"])
    assert [line.partition(" ")[0] for line in shown.splitlines()] == ["whystall:", "hint:"]
