import base64
import hashlib
import json
import re
from html.parser import HTMLParser

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

import findings
from whystall.reports import render
from whystall.reports.html import embedded

ATTACK = "</script><script>alert(1)</script>\"'><img src=x onerror=alert(1)>"


class Tags(HTMLParser):
    def __init__(self):
        super().__init__()
        self.seen = []

    def handle_starttag(self, tag, attrs):
        self.seen.append((tag, dict(attrs)))


def tags(page):
    parser = Tags()
    parser.feed(page)
    return parser.seen


def block(page, tag):
    return re.findall(f"<{tag}>(.*?)</{tag}>", page, re.S)


@pytest.fixture(scope="module")
def page():
    return render(findings.bottleneck(), "html")


def test_nothing_is_fetched(page):
    for tag, attrs in tags(page):
        assert tag not in ("link", "img", "iframe", "object", "embed", "base", "form")
        assert not {"src", "href", "style"} & set(attrs), (tag, attrs)


def test_only_the_two_blocks_named_by_hash_may_run_or_style(page):
    policy = next(attrs["content"] for _, attrs in tags(page) if attrs.get("http-equiv") == "Content-Security-Policy")
    assert "unsafe" not in policy
    assert policy.startswith("default-src 'none'")
    for name, tag in (("script-src", "script"), ("style-src", "style")):
        (body,) = block(page, tag)
        digest = base64.b64encode(hashlib.sha256(body.encode()).digest()).decode()
        assert f"{name} 'sha256-{digest}'" in policy


def test_no_handler_stands_in_the_markup(page):
    assert not [name for _, attrs in tags(page) for name in attrs if name.startswith("on")]


def test_hostile_text_stays_text():
    hostile = render(findings.hostile(ATTACK), "html")
    plain = render(findings.hostile("x"), "html")
    assert [tag for tag, _ in tags(hostile)] == [tag for tag, _ in tags(plain)]
    assert not [name for _, attrs in tags(hostile) for name in attrs if name.startswith("on")]


@given(st.recursive(st.text(), lambda inner: st.lists(inner, max_size=3)))
def test_embedded_data_cannot_end_its_block_and_reads_back(value):
    text = embedded(json.dumps(value, ensure_ascii=False))
    assert not re.search("[<>&\u2028\u2029]", text)
    assert json.loads(text) == value


def test_the_diagnosis_is_in_the_page_for_machines(page):
    body = re.search('<script type="application/json" id="diagnosis">(.*?)</script>', page, re.S)
    assert json.loads(body[1]) == json.loads(render(findings.bottleneck(), "json"))


def test_the_language_is_declared():
    assert '<html lang="zh-CN">' in render(findings.bottleneck(), "html", "zh")
    assert '<html lang="en">' in render(findings.bottleneck(), "html", "en")


def test_every_engine_has_its_own_section():
    several = render(findings.several(), "html")
    assert several.count('<details class="engine">') == 1
    assert several.count('class="timeline"') == 2


def test_an_id_stands_once():
    ids = [attrs["id"] for _, attrs in tags(render(findings.several(), "html")) if "id" in attrs]
    assert len(ids) == len(set(ids))


def test_it_is_small_enough_to_mail(page):
    assert len(page.encode()) < 200_000


def test_a_remedy_is_a_block_with_its_flags_as_code():
    page = render(findings.bottleneck(), "html")
    block = page[page.index('<article class="remedy">') :]
    assert "<dt>Flags</dt><dd><code>--kv-cache-dtype fp8</code></dd>" in block[: block.index("</article>")]


def test_evidence_that_speaks_against_is_folded():
    found = findings.bottleneck()
    known = found.diagnosis.evidence[0]
    strengths = {"piece.for": 1.0, "piece.not": -1.0}
    pieces = tuple(msgspec.structs.replace(known, id=id, strength=strength) for id, strength in strengths.items())
    diagnosis = msgspec.structs.replace(found.diagnosis, evidence=pieces)
    page = render(msgspec.structs.replace(found, diagnosis=diagnosis), "html")
    open_, folded = page.split("1 that speak against")
    assert ("piece.for" in open_, "piece.not" in open_) == (True, False)
    assert "piece.not" in folded
