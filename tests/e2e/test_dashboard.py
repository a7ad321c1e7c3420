"""The dashboard in a real browser: every page, both languages, a phone's width, and no complaint from the browser."""

import re
import shutil
import subprocess
import sys
import types

import msgspec
import pytest

import findings
import kept_cases
import shown
import shown_server
from contrast import CONTRAST
from whystall.cases.book import Book
from whystall.model.diagnosis import Engine, RuledOut
from whystall.model.text import Text

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
ATTACK = "</script><img src=x onerror=window.hacked=1>\"'>javascript:window.hacked=1"
PAGES = [
    ("fleet", ".scroll tbody tr"),
    ("engine/chat-a", ".cause"),
    ("engine/lost", ".answer"),
    ("incidents", ".scroll tbody tr"),
    ("incident/1", ".course li"),
    ("incident/2", ".remedy"),
    ("traces", ".drop"),
    ("cases", ".scroll tbody tr"),
    ("case/1", ".answer"),
    ("whatif", ".pick li"),
    ("whatif/chat-b", ".knob"),
]
SLOW = 60_000  # the machine may be busy; nothing waits for as long unless something is wrong


@pytest.fixture(scope="module")
def browser():
    if CHROMIUM is None:
        pytest.skip("needs Debian's chromium")
    playwright = pytest.importorskip("playwright.sync_api", reason="needs playwright")
    with playwright.sync_playwright() as running:
        chromium = running.chromium.launch(executable_path=CHROMIUM, args=ARGS)
        yield chromium
        chromium.close()


def filled(scene: shown_server.Scene) -> shown_server.Scene:
    """Five engines, two incidents, one of them over and kept."""
    closed = shown.incident(1, "chat-a", "seq_cap", over=True, case=1)
    now = shown.incident(2, "chat-b", "cpu_kv_overflow")
    a, b = shown.engine("chat-a", "seq_cap"), shown.engine("chat-b", "cpu_kv_overflow", 2)
    fine, soon, gone = shown.engine("batch", "healthy"), shown.warned("embed", "cpu_healthy"), shown.lost("lost")
    scene.fleet = shown.fleet(b, gone, a, soon, fine)
    scene.incidents = [now, closed]
    scene.views = {
        "chat-a": shown.view(a, "seq_cap", (closed,)),
        "chat-b": shown.view(b, "cpu_kv_overflow", (now,)),
        "batch": shown.view(fine, "healthy"),
        "lost": shown.EngineView(engine=gone),
    }
    scene.recordings = {"chat-a": "seq_cap", "chat-b": "seq_cap"}
    return scene


@pytest.fixture(scope="module")
def scene(tmp_path_factory, data):
    folder = tmp_path_factory.mktemp("watched")
    with Book.open(folder / "cases.db") as book:
        book.add(kept_cases.proven_case())
    traces = folder / "traces"
    traces.mkdir()
    shutil.copy(data / "traces" / "h200_m8b_graph.json.gz", traces / "step.json.gz")
    scene = filled(shown_server.Scene(folder / "cases.db", traces))
    with shown_server.serving(scene):
        yield scene


@pytest.fixture
def show(browser):
    contexts = []

    def opened(scene, page="fleet", lang="en", width=1280, scheme="light", query=""):
        context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme, locale="en-GB")
        context.set_default_timeout(SLOW)
        contexts.append(context)
        tab = context.new_page()
        tab.complaints = []
        tab.on("console", lambda message: tab.complaints.append(message.text))
        tab.on("pageerror", lambda error: tab.complaints.append(str(error)))
        tab.on("request", lambda request: request.url.startswith(scene.url) or tab.complaints.append(request.url))
        tab.goto(f"{scene.url}/#/{page}?lang={lang}{query}")
        return tab

    yield opened
    for context in contexts:
        context.close()


@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("lang", ["en", "zh"])
def test_every_page_opens_without_a_complaint_and_fits(scene, show, lang, width):
    tab = show(scene, "fleet", lang, width)
    for page, there in PAGES:
        tab.goto(f"{scene.url}/#/{page}?lang={lang}")
        tab.locator(f"main {there}").first.wait_for()
        assert tab.evaluate("document.documentElement.scrollWidth") <= width, page
        assert tab.complaints == [], page
        assert "whystall" in tab.title()
        assert tab.evaluate("document.documentElement.lang") == ("zh-CN" if lang == "zh" else "en")


def test_a_click_leads_from_the_fleet_to_an_engine_its_incident_and_the_case(scene, show):
    tab = show(scene)
    tab.get_by_role("link", name="chat-a").click()
    tab.locator(".answer h1").wait_for()
    assert "All seats taken" in tab.locator(".answer h1").inner_text()
    tab.locator(".name").last.click()
    tab.get_by_role("link", name="Case 1").click()
    tab.get_by_text("WIN").first.wait_for()
    with tab.expect_popup() as popup:
        tab.get_by_role("link", name="Post-mortem").click()
    popup.value.locator("h1").wait_for()
    assert popup.value.locator("h1").inner_text() == "KV blocks are used up"
    assert tab.complaints == []
    tab.go_back()
    tab.locator(".course li").first.wait_for()
    assert "#/incident/1" in tab.url


def test_the_verdict_is_a_sign_and_a_word(scene, show):
    tab = show(scene)
    tab.locator(".scroll tbody tr").first.wait_for()
    said = tab.locator(".scroll").first.locator("tbody .badge").all_inner_texts()
    assert said == ["✘ bottleneck", "⊘ unreachable", "✘ bottleneck", "◔ warning", "✔ healthy"]


def test_what_sets_a_replica_apart_stands_in_its_row(show):
    scene, apart = shown_server.Scene(), Text("tokens come 30 ms apart, 12 ms on the other 2 of k8s")
    slow = msgspec.structs.replace(shown.engine("k8s~b", "healthy"), beside=apart)
    scene.fleet = shown.fleet(shown.engine("k8s~a", "healthy"), slow)
    with shown_server.serving(scene):
        tab = show(scene)
        rows = tab.locator(".scroll").first.locator("tbody tr")
        rows.nth(1).get_by_text("≠ tokens come 30 ms apart, 12 ms on the other 2 of k8s").wait_for()
        assert "≠" not in rows.first.inner_text()


def test_the_filter_and_the_order_stand_in_the_url(scene, show):
    tab = show(scene)
    tab.get_by_label("Filter by name, model, limit").fill("chat")
    tab.get_by_label("Sort by").select_option("name")
    names = tab.locator("tbody .name")
    assert names.all_inner_texts() == ["chat-a", "chat-b"]
    assert "q=chat" in tab.url
    tab.reload()
    names.first.wait_for()
    assert names.all_inner_texts() == ["chat-a", "chat-b"]
    tab.get_by_label("Show").select_option("healthy")
    tab.get_by_text("No engine fits the filter.").wait_for()
    tab.get_by_role("button", name="Show all").click()
    assert names.count() == 5


def test_charts_have_ink_limits_and_a_cursor_for_all(scene, show):
    tab = show(scene, "engine/chat-a")
    tab.locator(".chart canvas").nth(4).wait_for()
    charts = tab.locator(".chart")
    assert charts.count() >= 6
    drawn = """(c) => c.getContext("2d").getImageData(0, 0, c.width, c.height).data
      .filter((value, i) => i % 4 === 3 && value > 200).length"""
    for canvas in tab.locator(".chart canvas").all():
        assert canvas.evaluate(drawn) > 500
    charts.first.focus()
    tab.keyboard.press("End")
    times = tab.locator(".chart .u-legend .u-series:first-child .u-value").all_inner_texts()
    assert len(set(times[:5])) == 1
    assert times[0].count(":") == 2


@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize(
    ("lang", "said"), [("en", ["no answer", "slower", "in order"]), ("zh", ["无响应", "变慢", "正常"])]
)
def test_the_ways_to_other_daemons_stand_below_the_fleet_and_on_the_engines_page(scene, show, lang, said, width):
    tab = show(scene, lang=lang, width=width)
    rows = tab.locator(".links tbody tr")
    rows.first.wait_for()
    assert [words.split(" ", 1)[1] for words in tab.locator(".links .badge").all_inner_texts()] == said
    cells = rows.nth(1).locator("td").all_inner_texts()
    assert cells[1:6] == ["gpu8:9400", "21 ms", "19 ms – 30 ms", "500 µs", "20%"]
    assert rows.first.locator("td").nth(2).inner_text() == rows.first.locator("td").nth(3).inner_text()
    assert rows.nth(1).locator(".spark .line").count() == 1
    tab.goto(f"{scene.url}/#/engine/chat-a?lang={lang}")
    tab.locator(".links tbody tr").nth(1).wait_for()
    assert tab.locator(".links tbody tr").count() == 2
    assert tab.evaluate("document.documentElement.scrollWidth") <= width
    assert tab.complaints == []


def test_language_and_colours_are_switched_by_the_keyboard_and_kept(scene, show):
    tab = show(scene)
    tab.locator("#lang").focus()
    tab.keyboard.press("Enter")
    tab.get_by_role("heading", name="总览").wait_for()
    assert "lang=zh" in tab.url
    assert "起监视" in tab.locator("#foot").inner_text()
    tab.locator("nav a").nth(1).click()
    tab.locator("#lang").click()
    tab.get_by_role("heading", name="Incidents").wait_for()
    assert "watching since" in tab.locator("#foot").inner_text()  # of a page that says nothing of it itself
    tab.locator("#lang").click()
    tab.get_by_role("heading", name="事件").wait_for()
    background = "getComputedStyle(document.body).backgroundColor"
    light = tab.evaluate(background)
    tab.locator("#theme").focus()
    tab.keyboard.press("Enter")
    assert tab.evaluate(background) != light
    tab.goto(f"{scene.url}/")
    tab.reload()
    tab.get_by_role("heading", name="总览").wait_for()
    assert tab.evaluate("document.documentElement.dataset.theme") == "dark"


def test_the_keyboard_alone_reaches_an_engine(scene, show):
    tab = show(scene)
    tab.locator("tbody .name").first.wait_for()
    for _ in range(30):
        tab.keyboard.press("Tab")
        if tab.evaluate("document.activeElement.textContent") == "chat-b":
            break
    tab.keyboard.press("Enter")
    tab.locator(".cause").first.wait_for()
    assert "#/engine/chat-b" in tab.url


def test_a_trace_is_uploaded_and_one_is_picked(scene, show, data):
    tab = show(scene, "traces")
    tab.locator("#file").set_input_files(data / "traces" / "h200_m1b_eager.json.gz")
    tab.locator(".out .headline").wait_for()
    assert tab.locator(".out .scroll").count() > 3
    assert tab.locator("canvas.lanes").count() == 1
    tab.get_by_role("link", name="step.json.gz").click()
    tab.locator(".out .headline").wait_for()
    assert tab.complaints == []


def test_a_file_that_is_no_trace_is_refused_by_name(scene, show, tmp_path):
    tab = show(scene, "traces")
    (tmp_path / "notes.txt").write_text("nothing of that kind")
    tab.locator("#file").set_input_files(tmp_path / "notes.txt")
    tab.get_by_role("alert").wait_for()
    assert "notes.txt is in no format known here" in tab.get_by_role("alert").inner_text()
    (tmp_path / "big.json").write_bytes(b"x" * (5 << 20))
    tab.locator("#file").set_input_files(tmp_path / "big.json")
    tab.get_by_text("at most 4 MiB are read here").wait_for()


def test_a_slider_is_answered_with_a_prediction(scene, show):
    tab = show(scene, "whatif/chat-a")
    seats = tab.get_by_label("--max-num-seqs")
    seats.focus()
    tab.keyboard.press("End")
    tab.locator(".predicted .bars").wait_for()
    assert "recommended" in tab.locator(".predicted .advice").inner_text()
    assert "set=max_num_seqs%3D128" in tab.url
    tab.get_by_role("button", name="Back to how it is").click()
    tab.get_by_text("Move a slider").wait_for()
    assert "set=" not in tab.url
    assert tab.complaints == []


def test_a_change_that_does_not_start_is_refused_in_words(scene, show):
    tab = show(scene, "whatif/chat-a", query="&set=max_num_seqs%3D999999999")
    tab.get_by_role("alert").wait_for()
    assert "would refuse to start" in tab.get_by_role("alert").inner_text()


def test_a_remedy_is_predicted_where_it_stands(scene, show):
    tab = show(scene, "engine/chat-a")
    tab.get_by_role("button", name="Predict").first.click()
    tab.locator(".predict table").first.wait_for()
    assert "TTFT p95" in tab.locator(".predict table").first.inner_text()


def test_an_event_brings_the_page_up_to_date_and_keeps_what_is_typed(show):
    scene = filled(shown_server.Scene())
    with shown_server.serving(scene):
        tab = show(scene)
        tab.get_by_text("● live").wait_for()
        search = tab.get_by_label("Filter by name, model, limit")
        search.fill("e")
        scene.fleet = shown.fleet(shown.engine("newcomer", "healthy"))
        scene.tell("look")
        tab.get_by_role("link", name="newcomer").wait_for()
        assert search.input_value() == "e"
        assert tab.evaluate("document.activeElement.type") == "search"


def test_a_service_that_goes_away_is_said_and_found_again(show):
    scene = filled(shown_server.Scene())
    with shown_server.serving(scene) as url:
        tab = show(scene)
        tab.get_by_text("● live").wait_for()
        scene.tell("")
    tab.get_by_text("connection lost").wait_for()
    tab.locator("#banner").get_by_text("Not up to date").wait_for()
    assert tab.locator(".scroll").first.locator("tbody tr").count() == 5
    again = filled(shown_server.Scene())
    again.fleet = shown.fleet(shown.engine("newcomer", "healthy"))
    with shown_server.serving(again, int(url.rpartition(":")[2])):
        tab.get_by_role("link", name="newcomer").wait_for()
        tab.get_by_text("● live").wait_for()
        assert not tab.locator("#banner").is_visible()


def test_empty_and_broken_are_said_in_words(show):
    scene = shown_server.Scene()
    with shown_server.serving(scene):
        tab = show(scene)
        tab.get_by_text("Nothing is watched yet.").wait_for()
        for page, words in [
            ("incidents", "No incident so far."),
            ("cases", "No case is kept yet."),
            ("traces", "The service has no trace folder"),
            ("whatif", "No engine is watched"),
            ("engine/none", "This engine is not watched"),
            ("incident/9", "There is no such incident."),
            ("nowhere", "There is no page at this address."),
        ]:
            tab.goto(f"{scene.url}/#/{page}")
            tab.get_by_text(words).wait_for()
        scene.broken = True
        tab.goto(f"{scene.url}/#/incidents")
        tab.get_by_text("the store is gone").wait_for()
        scene.broken = False
        tab.get_by_role("button", name="Try again").click()
        tab.get_by_text("No incident so far.").wait_for()


def test_a_token_is_asked_for_once(show):
    scene = filled(shown_server.Scene())
    scene.token = "sesame"
    with shown_server.serving(scene):
        tab = show(scene)
        tab.get_by_label("Token").fill("wrong")
        tab.keyboard.press("Enter")
        tab.get_by_text("That token was refused.").wait_for()
        tab.get_by_label("Token").fill("sesame")
        tab.keyboard.press("Enter")
        tab.locator("tbody tr").first.wait_for()
        assert tab.evaluate("document.cookie") == ""


def test_nothing_hostile_runs(show):
    scene = hostile()
    with shown_server.serving(scene):
        tab = show(scene, width=390)
        tab.locator("tbody .name").wait_for()
        assert tab.locator("tbody .name").inner_text() == ATTACK
        tab.locator("tbody .name").click()
        tab.locator(".cause").first.wait_for()
        assert tab.locator(".answer h1").inner_text() == ATTACK
        tab.goto(f"{scene.url}/#/incident/1")
        tab.locator(".course li").first.wait_for()
        tab.goto(f"{scene.url}/#/{ATTACK}")
        tab.get_by_text("There is no page at this address.").wait_for()
        assert tab.evaluate("window.hacked") is None
        assert tab.locator("main img").count() == 0
        assert tab.evaluate("document.documentElement.scrollWidth") <= 390
        assert tab.complaints == []


def hostile() -> shown_server.Scene:
    """The attack wherever a server or a file can put text."""
    scene, text = shown_server.Scene(), Text(ATTACK)
    found = findings.hostile(ATTACK).diagnosis
    engine = msgspec.structs.replace(
        shown.engine("x", "seq_cap", 1),
        id=ATTACK,
        name=ATTACK,
        target=ATTACK,
        engine=Engine(ATTACK, ATTACK, ATTACK, ATTACK),
        headline=text,
        binding_limit=ATTACK,
        silenced=ATTACK,
        error=ATTACK,
        error_text=text,
        beside=text,
    )
    incident = msgspec.structs.replace(
        shown.incident(1, "x", "seq_cap"), engine_id=ATTACK, headline=text, target=ATTACK, diagnosis=found
    )
    view = shown.view(engine, "seq_cap")
    panel = msgspec.structs.replace(view.panels[0], id=ATTACK, title=text, unit=ATTACK)
    changed = {"panels": (panel,), "diagnosis": found, "limits": found.limits, "coverage": found.coverage}
    scene.fleet = shown.fleet(engine)
    scene.incidents = [incident]
    scene.views = {ATTACK: msgspec.structs.replace(view, ruled_out=(RuledOut(ATTACK, text),), **changed)}
    return scene


def test_a_thousand_engines_are_shown_a_hundred_at_a_time(show):
    scene = shown_server.Scene()
    one = shown.engine("x", "healthy")
    scene.fleet = shown.fleet(*(msgspec.structs.replace(one, id=f"e{n:04}", name=f"e{n:04}") for n in range(1000)))
    with shown_server.serving(scene):
        tab = show(scene)
        tab.get_by_text("1000 engines").wait_for()
        assert tab.locator(".scroll").first.locator("tbody tr").count() == 100
        tab.get_by_role("button", name="Show 100 more").click()
        assert tab.locator(".scroll").first.locator("tbody tr").count() == 200
        tab.get_by_label("Filter by name, model, limit").fill("e0999")
        assert tab.locator("tbody .name").all_inner_texts() == ["e0999"]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_has_contrast_enough(scene, show, scheme):
    tab = show(scene, scheme=scheme)
    tab.locator("tbody tr").first.wait_for()
    pairs = [
        ("ink", "page"),
        ("muted", "page"),
        ("muted", "card"),
        ("accent", "card"),
        ("accent", "page"),
        ("limit", "card"),
    ]
    pairs += [("bad", "bad-soft"), ("good", "good-soft"), ("doubt", "doubt-soft"), ("bad", "card"), ("good", "card")]
    for ink, ground in pairs:
        assert tab.evaluate(CONTRAST, [ink, ground]) >= 4.5, (ink, ground)


def test_the_licence_of_what_is_vendored_is_served(scene, show):
    answer = show(scene).request.get(f"{scene.url}/web/uPlot.LICENSE")
    assert "MIT" in answer.text() or "Permission is hereby granted" in answer.text()


def started(*words):
    """A verb of ours as a process, and the address that it prints first."""
    command = [sys.executable, "-m", "whystall", *words]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    for line in process.stdout:
        found = re.search(r"http://127\.0\.0\.1:\d+", line.replace("/metrics", ""))
        if found and ("watching" in line or words[0] == "emulate"):
            return process, found[0]
    raise AssertionError(f"{words} ended: {process.wait()}")


def test_an_incident_is_seen_as_it_happens_on_a_real_watch(show):
    emulator, server = started("emulate", "--port", "0", "--speed", "10", "--rate", "8", "--fault", "kv_capacity@200")
    try:
        watch, url = started("watch", server, "--listen", "127.0.0.1:0", "--interval", "2s")
        try:
            tab = show(types.SimpleNamespace(url=url))
            tab.locator("tbody .name").wait_for()
            tab.get_by_text("● live").wait_for()
            # Nothing is clicked or loaded anew until the incident is there.
            tab.locator("tbody .badge", has_text="bottleneck").wait_for(timeout=4 * SLOW)
            tab.get_by_role("link", name="Incidents").click()
            tab.locator("tbody .name").click()
            tab.locator(".chart canvas").nth(2).wait_for()
            assert "KV cache too small" in tab.locator(".answer h1").inner_text()
            assert tab.locator(".course li").count() == 2
            assert tab.complaints == []
        finally:
            watch.terminate()
            watch.wait(60)
    finally:
        emulator.terminate()
        emulator.wait(60)
