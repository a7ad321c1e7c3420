"""The HTML report in a real browser, opened from a file as a reader would."""

import shutil
from pathlib import Path

import pytest

import findings
from contrast import CONTRAST
from whystall.reports import render

pytestmark = pytest.mark.browser
CHROMIUM = shutil.which("chromium")
ARGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
ATTACK = "</script><script>window.hacked=1</script><img src=x onerror=window.hacked=1>\"'>"
# Counts the pixels of a canvas that are drawn, and how many colours they have.
INK = """(canvas) => {
  const data = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
  const colors = new Set();
  let drawn = 0;
  for (let i = 0; i < data.length; i += 4)
    if (data[i + 3] > 200) { drawn += 1; colors.add(data[i] << 16 | data[i + 1] << 8 | data[i + 2]); }
  return [drawn, colors.size];
}"""


@pytest.fixture(scope="module")
def browser():
    if CHROMIUM is None:
        pytest.skip("needs Debian's chromium")
    playwright = pytest.importorskip("playwright.sync_api", reason="needs playwright")
    with playwright.sync_playwright() as running:
        chromium = running.chromium.launch(executable_path=CHROMIUM, args=ARGS)
        yield chromium
        chromium.close()


@pytest.fixture
def show(browser, tmp_path: Path):
    contexts = []

    def opened(finding, lang="en", width=1200, scheme="light"):
        path = tmp_path / f"{lang}{width}{scheme}.html"
        path.write_text(render(finding, "html", lang), "utf-8")
        context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
        contexts.append(context)
        page = context.new_page()
        page.complaints = []
        page.on("console", lambda message: page.complaints.append(message.text))
        page.on("pageerror", lambda error: page.complaints.append(str(error)))
        page.on("request", lambda request: request.url.startswith("file:") or page.complaints.append(request.url))
        page.goto(path.as_uri())
        return page

    yield opened
    for context in contexts:
        context.close()


@pytest.mark.parametrize("lang", ["en", "zh"])
@pytest.mark.parametrize("make", [findings.bottleneck, findings.healthy, findings.unknown, findings.several])
def test_it_opens_without_a_complaint_or_a_request(show, make, lang):
    page = show(make(), lang)
    assert page.locator("h1").inner_text() == make().diagnosis.headline.in_(lang)
    assert page.complaints == []


def test_every_chart_is_drawn(show):
    page = show(findings.bottleneck())
    canvases = page.locator(".chart canvas").all()
    assert len(canvases) == 4
    for canvas in canvases:
        drawn, colors = canvas.evaluate(INK)
        assert drawn > 1000
        assert colors > 5
    assert page.locator(".chart h3").first.inner_text() == "Requests"


def test_onset_and_limit_add_ink(show):
    with_marks = show(findings.bottleneck()).locator(".chart canvas").nth(1).evaluate(INK)
    without = show(findings.healthy(), width=1201).locator(".chart canvas").nth(1).evaluate(INK)
    assert with_marks[1] > without[1]


def test_the_onset_is_explained_only_where_there_is_one(show):
    assert show(findings.bottleneck()).locator(".timeline .onset").is_visible()
    assert not show(findings.healthy(), width=1201).locator(".timeline .onset").is_visible()


def test_without_a_timeline_there_is_no_empty_section(show):
    assert not show(findings.unknown()).locator(".timeline").is_visible()


def test_nothing_hostile_runs(show):
    page = show(findings.hostile(ATTACK))
    page.wait_for_timeout(200)
    assert page.evaluate("window.hacked") is None
    assert page.locator("img").count() == 0
    assert page.locator("h1").inner_text() == ATTACK
    assert page.complaints == []


def test_the_button_turns_the_lights_off_and_on(show):
    page = show(findings.bottleneck())
    background = "getComputedStyle(document.body).backgroundColor"
    light, light_ink = page.evaluate(background), page.locator(".chart canvas").first.evaluate(INK)
    page.locator("#theme").focus()
    page.keyboard.press("Enter")
    assert page.evaluate(background) != light
    assert page.locator("#theme").get_attribute("aria-pressed") == "true"
    assert page.locator(".chart canvas").first.evaluate(INK) != light_ink
    page.keyboard.press("Enter")
    assert page.evaluate(background) == light
    assert page.locator(".chart").count() == 4


def test_the_system_chooses_first(show):
    dark = show(findings.bottleneck(), scheme="dark")
    assert dark.evaluate("document.documentElement.dataset.theme") == "dark"


def test_arrow_keys_move_the_cursor_of_every_chart(show):
    page = show(findings.bottleneck())
    page.locator(".chart").first.focus()
    page.keyboard.press("End")
    times = [text.split("\n")[0] for text in page.locator(".chart .u-legend").all_inner_texts()]
    assert len(times) == 4
    assert all("60 s · 14:14:20 UTC" in text for text in times)
    page.keyboard.press("ArrowLeft")
    assert "59 s" in page.locator(".chart .u-legend").nth(3).inner_text()


@pytest.mark.parametrize("width", [320, 390, 800, 1600])
@pytest.mark.parametrize("lang", ["en", "zh"])
def test_no_width_makes_the_page_scroll_sideways(show, width, lang):
    page = show(findings.several(), lang, width)
    page.locator("details.engine > summary").click()
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.complaints == []


def test_a_folded_engine_draws_its_charts_when_it_is_opened(show):
    page = show(findings.several())
    assert page.locator("details.engine .chart").count() == 0
    page.locator("details.engine > summary").click()
    page.locator("details.engine .chart canvas").first.wait_for()
    assert page.locator("details.engine .chart").count() == 4


# Draws the KV panel with its limit and an onset at many places, at a phone's and a desk's width; returns the labels of each.
LABELS = """async () => {
  const said = [], write = CanvasRenderingContext2D.prototype.fillText;
  let now = [];
  CanvasRenderingContext2D.prototype.fillText = function (text, x, y) {
    if (this.font.startsWith("500")) now.push([text, x, y - 12, x + this.measureText(text).width, y]);
    return write.call(this, text, x, y);
  };
  const t = [...Array(61).keys()], words = { time: "time", above: "{label}: above this chart" };
  const ways = { x: String, tick: String, words };
  for (const wide of [330, 560]) for (const top of [1, 0.3]) for (let at = 0; at <= 60; at += 2) {
    const line = { label: "KV blocks in use", values: t.map((i) => top * i / 60), limit: 1, limit_label: "all blocks" };
    const chart = new whystallTimeline.Chart({ title: "KV cache", unit: "ratio", lines: [line] }, ways);
    const holder = document.createElement("div");
    holder.style.width = wide + "px";
    document.body.append(holder);
    holder.append(chart.card);
    now = [];
    chart.show(chart.panel, t, [{ at, low: at - 1, high: at + 1, label: "KV cache too small began", first: true }]);
    await new Promise((done) => setTimeout(done, 0));
    said.push(now);
    chart.close();
    holder.remove();
  }
  return said;
}"""


def test_no_label_of_a_chart_covers_another(show):
    charts = show(findings.bottleneck()).evaluate(LABELS)
    assert len(charts) == 4 * 31
    for drawn in charts:
        labels = drawn[-2:]  # a chart is drawn again when its width is known
        assert len(labels) == 2, drawn
        (_, left, top, right, low), (_, left2, top2, right2, low2) = labels
        assert right <= left2 or right2 <= left or low <= top2 or low2 <= top, labels


def test_the_diagnosis_can_be_saved(show):
    page = show(findings.bottleneck())
    with page.expect_download() as download:
        page.locator("#download").click()
    assert download.value.suggested_filename == "diagnosis.json"
    assert Path(download.value.path()).read_text("utf-8") == render(findings.bottleneck(), "json")


def test_text_has_contrast_enough_in_both_themes(show):
    # WCAG's ratio for small text, against the card that it stands on.
    pairs = [("ink", "page"), ("muted", "page"), ("muted", "card"), ("accent", "card"), ("limit", "card")]
    pairs += [("bad", "bad-soft"), ("good", "good-soft"), ("doubt", "doubt-soft"), ("good", "card"), ("doubt", "card")]
    for scheme in ("light", "dark"):
        page = show(findings.bottleneck(), scheme=scheme)
        for ink, ground in pairs:
            assert page.evaluate(CONTRAST, [ink, ground]) >= 4.5, (scheme, ink, ground)
