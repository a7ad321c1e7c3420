"""The live screen against an emulated server, driven by textual's pilot."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from textual.pilot import Pilot
from textual.widgets import DataTable, Static

from integration_processes import process
from whystall.errors import Unreachable
from whystall.service.live_feed import Feed, FeedSpec
from whystall.service.screen import Screen

EMULATE = [sys.executable, "-m", "whystall", "emulate", "--rate", "10", "--fault", "seat_cap@20", "--speed", "10"]


async def shown(pilot: Pilot, right: Callable[[Screen], bool]) -> None:
    """Wait for what must come."""
    async with asyncio.timeout(120):
        while not right(pilot.app):  # type: ignore[arg-type]
            await pilot.pause(0.1)


def text(app: Screen, part: str) -> str:
    return str(app.query_one(f"#{part}", Static).render())


async def served(port: int) -> None:
    async with asyncio.timeout(60):
        while True:
            try:
                _, writer = await asyncio.open_connection("127.0.0.1", port)
            except OSError:
                await asyncio.sleep(0.1)
            else:
                writer.close()
                return


async def test_an_incident_is_seen_as_it_comes_and_the_keys_work(free_port: Callable[[], int]) -> None:
    port = free_port()
    with process(*EMULATE, "--port", str(port), "--replicas", "2"):
        await served(port)
        target = f"http://127.0.0.1:{port}"
        screen = Screen(Feed(FeedSpec(target, look_every_s=5.0)), "lab")
        async with screen.run_test(size=(120, 40)) as pilot:
            await shown(pilot, lambda app: "HEALTHY" in text(app, "answer"))
            await shown(pilot, lambda app: bool(app.finding) and app.finding.diagnosis.verdict == "bottleneck")
            # At its first seconds a queue may be of several causes; that all seats are taken shows with some more of them.
            await shown(pilot, lambda app: "seats" in text(app, "answer").lower())
            assert screen.query_one(DataTable).row_count > 0
            assert "✔" in text(screen, "why")
            assert screen.query_one("#answer").has_class("bottleneck")
            pictures = text(screen, "pictures")
            assert all(name in pictures for name in ("running", "waiting", "KV blocks", "mean TTFT", "mean ITL"))
            engine = text(screen, "status")
            await pilot.press("p", "e")
            assert screen.paused
            assert text(screen, "status") not in (engine, "")
            await pilot.press("l")
            assert "存在瓶颈" in text(screen, "answer")
            await pilot.resize_terminal(60, 24)
            await shown(pilot, lambda app: max(map(len, text(app, "pictures").splitlines())) <= 62)
            folder = os.environ.get("WHYSTALL_SCREENSHOTS")
            if folder:
                await pilot.resize_terminal(110, 34)
                await pilot.press("l", "e")
                await pilot.pause()
                screen.save_screenshot("top.svg", str(Path(folder)))
            await pilot.press("q")
        assert screen.return_value is None
        assert screen.return_code == 0


async def test_a_server_that_goes_away_is_named_and_the_screen_stays(free_port: Callable[[], int]) -> None:
    port = free_port()
    with process(*EMULATE, "--port", str(port)) as server:
        await served(port)
        screen = Screen(Feed(FeedSpec(f"http://127.0.0.1:{port}")), "lab")
        async with screen.run_test(size=(100, 30)) as pilot:
            await shown(pilot, lambda app: app.finding is not None)
            server.terminate()
            await shown(pilot, lambda app: "no page" in text(app, "status"))
            assert screen.is_running


async def test_a_server_that_is_not_there_ends_the_screen_with_the_error(free_port: Callable[[], int]) -> None:
    screen = Screen(Feed(FeedSpec(f"http://127.0.0.1:{free_port()}")), "nobody")
    async with screen.run_test() as pilot:
        await shown(pilot, lambda app: app.return_value is not None)
    assert isinstance(screen.return_value, Unreachable)


@pytest.mark.skipif(sys.platform == "win32", reason="pty")
async def test_the_command_ends_cleanly_in_a_terminal(free_port: Callable[[], int]) -> None:
    """In a real pseudo-terminal: q ends it, exit code 0, and the terminal is put back."""
    import pty
    import subprocess

    port = free_port()
    with process(*EMULATE, "--port", str(port)):
        await served(port)
        ours, theirs = pty.openpty()
        command = [sys.executable, "-m", "whystall", "top", f"http://127.0.0.1:{port}", "--lang", "en"]
        environment = os.environ | {"TERM": "xterm-256color", "COLUMNS": "100", "LINES": "30"}
        top = subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, env=environment)
        os.close(theirs)
        seen = await asyncio.to_thread(_read_until, ours, b"Looking")
        os.write(ours, b"q")
        rest = await asyncio.to_thread(_read_until, ours, None)
        assert await asyncio.to_thread(top.wait, 60) == 0
        os.close(ours)
    assert b"\x1b[?1049h" in seen  # the other screen, and back
    assert b"\x1b[?1049l" in rest


def _read_until(terminal: int, mark: bytes | None) -> bytes:
    """What comes until ``mark``; until the other side closes, without one."""
    seen = b""
    while mark is None or mark not in seen:
        try:
            piece = os.read(terminal, 65536)
        except OSError:  # Linux says EIO once nobody has the other side open
            break
        if not piece:
            break
        seen += piece
    return seen
