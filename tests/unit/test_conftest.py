"""A test that stops running unseen guards nothing: in CI a skip that is not on the list fails the run."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

CONFTEST = Path(__file__).resolve().parents[1] / "conftest.py"


def outcome(folder: Path, reason: str, ci: str, *options: str) -> subprocess.CompletedProcess[str]:
    shutil.copy(CONFTEST, folder / "conftest.py")
    (folder / "test_it.py").write_text(
        f"import pytest\n\ndef test_passes():\n    pass\n\ndef test_skips():\n    pytest.skip({reason!r})\n"
    )
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *options, str(folder)]
    environ = {**os.environ, "CI": ci}
    return subprocess.run(command, cwd=folder, env=environ, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("reason", "ci", "code"),
    [("felt like it", "true", 1), ("felt like it", "", 0), ("needs an NVIDIA GPU", "true", 0)],
)
def test_a_surprise_skip_fails_in_ci_only(tmp_path: Path, reason: str, ci: str, code: int) -> None:
    result = outcome(tmp_path, reason, ci)
    assert result.returncode == code, result.stdout
    assert ("unexpected skips" in result.stdout) == (reason == "felt like it")


def test_workers_are_watched_too(tmp_path: Path) -> None:
    result = outcome(tmp_path, "felt like it", "true", "-n", "2")
    assert result.returncode == 1, result.stdout
    assert "1 passed, 1 skipped" in result.stdout.strip().splitlines()[-1]
