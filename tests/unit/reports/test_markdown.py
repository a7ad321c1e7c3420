import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

import findings
from whystall.reports import render
from whystall.reports.markdown import code, escaped

ATTACK = (
    "<script>alert(1)</script><img src=x onerror=alert(1)> [a](javascript:alert(1)) @octocat #1 `b` | c | https://e.vil"
)


def html(markdown):
    return MarkdownIt("commonmark", {"html": True}).enable(["table"]).render(markdown)


@pytest.mark.parametrize("format", ["markdown", "github"])
def test_the_answer_comes_first(format):
    lines = render(findings.bottleneck(), format).splitlines()
    assert "bottleneck: KV blocks are used up" in lines[0]
    assert lines[1].startswith("Since 14 s")
    assert lines[2].startswith("Do first")


def test_tables_are_tables():
    page = html(render(findings.bottleneck(), "markdown"))
    assert "<td>running 27 of 256 seats</td>" in page
    assert page.count("<table>") >= 6


@pytest.mark.parametrize("format", ["markdown", "github"])
def test_hostile_text_becomes_neither_html_nor_a_link_nor_a_call(format):
    markdown = render(findings.hostile(ATTACK), format)
    page = html(markdown)
    assert "<script" not in page
    assert "<img" not in page
    assert "<a " not in page
    outside_code = re.sub("<code>.*?</code>", "", page)
    assert "@octocat" not in outside_code
    assert "https://e.vil" not in outside_code


@settings(max_examples=60)
@given(st.text(st.characters(codec="utf-8", exclude_categories=("Cc", "Cs", "Zl", "Zp", "Zs")), min_size=1))
def test_escaped_text_reads_as_it_was(text):
    import html as entities

    page = MarkdownIt("commonmark").renderInline("x" + escaped(text) + "x")
    assert "<" not in page
    assert entities.unescape(page).replace("\u2060", "") == f"x{text}x".replace("\u2060", "")


@given(st.text(st.sampled_from("`a| <"), min_size=1))
def test_code_is_one_span(text):
    page = MarkdownIt("commonmark").renderInline(code(text))
    assert page.count("<code>") == (1 if text.strip() else 0)
    assert "<a" not in page.replace("<code>", "")
