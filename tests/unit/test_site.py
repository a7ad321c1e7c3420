"""The site of the docs: its list of pages is whole, and mkdocs builds it without a warning."""

import subprocess
import sys
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
MADE = ("causes", "knobs")


def listed(nav: object) -> list[str]:
    if isinstance(nav, str):
        return [nav]
    parts = nav.values() if isinstance(nav, dict) else nav
    return [page for part in parts for page in listed(part)]  # type: ignore[union-attr]


def test_every_page_that_a_person_wrote_is_in_the_site():
    pages = {path.relative_to(ROOT / "docs").as_posix() for path in (ROOT / "docs").rglob("*.md")}
    written = {page for page in pages if not page.startswith(MADE) or page.endswith("index.md")}
    assert set(listed(yaml.safe_load((ROOT / "mkdocs.yml").read_text("utf-8"))["nav"])) == written


@pytest.mark.slow
def test_mkdocs_builds_it_strictly(tmp_path: Path):
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "-q", "-d", str(tmp_path / "site")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert (tmp_path / "site" / "causes" / "kv_capacity" / "index.html").is_file()
    assert (tmp_path / "site" / "tutorials" / "tune" / "index.html").is_file()
