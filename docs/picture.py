"""Make ``docs/images/report.png``: the HTML report of a recording as Debian's chromium shows it.

``python docs/picture.py RECORDING``; needs playwright and chromium.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path

import msgspec
from playwright.sync_api import sync_playwright

from whystall.model.target import Target
from whystall.pipeline import diagnose
from whystall.reports import render
from whystall.sources.files.recording import read_recording

PICTURE = Path(__file__).parent / "images" / "report.png"
ARGS = ["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"]
WIDTH, HEIGHT = 1160, 1210  # the answer, what it costs, and the first charts


def main(recording: Path) -> None:
    # By its name alone: a picture in the repository names no folder of this machine.
    found = msgspec.structs.replace(read_recording(recording), target=Target(recording.name, "recording"))
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "report.html"
        page.write_text(render(diagnose(found), "html"), "utf-8")
        shoot(page)


def shoot(page: Path) -> None:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=ARGS)
        tab = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT}, color_scheme="light")
        tab.goto(page.as_uri())
        tab.wait_for_selector(".chart canvas")
        tab.screenshot(path=PICTURE)
        browser.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
