"""A label that attacks whoever reads the report, from the page it was served on to every format."""

import gzip
import json
from html.parser import HTMLParser

import pytest

from whystall.cli import run

LABEL = "</script><script>alert(1)</script><img src=x onerror=alert(1)>\x1b[2J\x1b]0;title\x07@octocat [red]"


class Tags(HTMLParser):
    def __init__(self):
        super().__init__()
        self.seen = []

    def handle_starttag(self, tag, attrs):
        self.seen.append((tag, sorted(name for name, _ in attrs)))


@pytest.fixture(scope="module")
def folders(tmp_path_factory, request):
    """The same recording twice, one with the model's name replaced on every page."""
    page = request.config.rootpath / "tests" / "data" / "recordings" / "seq_cap" / "metrics.prom.gz"
    body = gzip.decompress(page.read_bytes())
    assert body.count(b'model_name="m"') > 1000
    made = {}
    for name, label in (("plain", b"m"), ("hostile", LABEL.encode())):
        made[name] = tmp_path_factory.mktemp(name)
        (made[name] / "metrics.prom").write_bytes(body.replace(b'model_name="m"', b'model_name="' + label + b'"'))
    return made


def report(folder, *options):
    file = folder / "report"
    assert run(["diagnose", str(folder), "-o", str(file), "--lang", "en", *options]) == 1
    return file.read_text("utf-8")


def test_the_page_has_no_tag_more(folders):
    found = {name: Tags() for name in folders}
    for name, folder in folders.items():
        found[name].feed(report(folder, "--format", "html"))
    assert found["hostile"].seen == found["plain"].seen


def test_the_terminal_is_neither_cleared_nor_renamed(folders):
    text = report(folders["hostile"], "--format", "text")
    assert not [char for char in text if ord(char) < 0x20 and char != "\n"]
    assert "\\x1b[2J" in text


@pytest.mark.parametrize("format", ["markdown", "github"])
def test_markdown_keeps_it_in_a_code_span(folders, format):
    text = report(folders["hostile"], "--format", format)
    assert "`</script><script>alert(1)" in text
    assert "\x1b" not in text


def test_programs_get_it_as_it_was(folders):
    assert json.loads(report(folders["hostile"], "--json"))["engine"]["model"] == LABEL


def test_the_answer_is_the_same(folders):
    answers = [json.loads(report(folder, "--json")) for folder in folders.values()]
    assert [one["causes"][0]["id"] for one in answers] == ["seat_cap", "seat_cap"]
