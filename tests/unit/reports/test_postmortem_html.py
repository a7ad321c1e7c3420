"""The page of a post-mortem in a real browser, opened from a file as a reader would."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from kept_cases import proven_case
from whystall.model.text import Text
from whystall.reports.postmortem import postmortem
from whystall.reports.postmortem_html import postmortem_html

CHROMIUM = shutil.which("chromium")
ATTACK = "</script><script>window.hacked=1</script><img src=x onerror=window.hacked=1>\"'>"


def test_only_its_own_style_and_script_may_run():
    page = postmortem_html(postmortem(proven_case(), "en"))
    policy = re.search(r'Content-Security-Policy" content="([^"]+)"', page)
    assert policy is not None
    assert policy[1].startswith("default-src &#39;none&#39;")
    assert page.count("<script>") == 1


@pytest.mark.browser
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_opens_in_light_and_dark_without_a_complaint(tmp_path: Path, scheme: str):
    if CHROMIUM is None:
        pytest.skip("needs Debian's chromium")
    playwright = pytest.importorskip("playwright.sync_api", reason="needs playwright")
    file = tmp_path / "page.html"
    case = proven_case(headline=Text(ATTACK), target=ATTACK)
    file.write_text(postmortem_html(postmortem(case, "zh")), encoding="utf-8")
    complaints: list[str] = []
    with playwright.sync_playwright() as running:
        chromium = running.chromium.launch(
            executable_path=CHROMIUM, args=["--headless", "--no-sandbox", "--disable-gpu"]
        )
        page = chromium.new_context(color_scheme=scheme).new_page()
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.goto(file.as_uri())
        ground = "getComputedStyle(document.body).backgroundColor"
        before = page.evaluate(ground)
        assert page.evaluate("window.hacked") is None
        assert page.get_attribute("#theme", "aria-pressed") == str(scheme == "dark").lower()
        page.click("#theme")
        after = page.evaluate(ground)
        assert page.inner_text("h1") == ATTACK
        chromium.close()
    assert complaints == []
    assert before != after
