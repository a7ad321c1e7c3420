"""The metrics parser against prometheus_client, which is the judge of what a page says."""

import gzip
import math
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from prometheus_client.parser import text_string_to_metric_families

from whystall.errors import NotMetrics, TooLarge
from whystall.model.recording import SeriesKey
from whystall.sources import exposition
from whystall.sources.exposition import Page, PageParser

HTML = b"<!DOCTYPE html>\n<html><body>502 Bad Gateway</body></html>"


def read(parser: PageParser, page: Page) -> dict[SeriesKey, float]:
    return {parser.keys[i]: v for i, v in zip(page.ids.tolist(), page.values.tolist(), strict=True)}


def oracle(text: str) -> dict[SeriesKey, float]:
    """prometheus_client's samples, the last of equal ones; it appends _total to counters, which is undone here."""
    samples = {}
    for family in text_string_to_metric_families(text):
        bare = family.type == "counter" and re.search(rf"^# TYPE {re.escape(family.name)} ", text, re.M)
        for sample in family.samples:
            name = sample.name.removesuffix("_total") if bare else sample.name
            samples[SeriesKey(name, tuple(sorted(sample.labels.items())))] = float(sample.value)
    return samples


def assert_same(got: dict[SeriesKey, float], wanted: dict[SeriesKey, float]) -> None:
    assert got.keys() == wanted.keys()
    assert [k for k in got if got[k] != wanted[k] and not (math.isnan(got[k]) and math.isnan(wanted[k]))] == []


def pages_of(path: Path) -> list[str]:
    text = (gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()).decode()
    return [part.partition("\n")[2] for part in text.split("# scrape ")[1:]] or [text]


def metric_files(shared: Path) -> list[Path]:
    return [
        *sorted(shared.glob("recordings/*/metrics.prom.gz")),
        *sorted(shared.glob("samples/vllm-0.32-cpu/*.prom")),
        *sorted(shared.glob("samples/ray-2.60/metrics_*.txt")),
    ]


def test_equals_prometheus_client_on_every_shared_page(shared):
    files = metric_files(shared)
    assert len(files) >= 24
    for path in files:
        parser = PageParser()
        pages = pages_of(path)
        for number, text in enumerate(pages):
            page = parser.parse(text.encode())
            if number % 13 == 0 or number == len(pages) - 1:  # the oracle is too slow for every scrape
                assert_same(read(parser, page), oracle(text))
                assert {
                    f.name: f.type for f in text_string_to_metric_families(text) if f.type != "unknown"
                }.items() <= {
                    (name.removesuffix("_total") if kind == "counter" else name): kind
                    for name, kind in page.types.items()
                }.items()


names = st.from_regex(r"[a-z_:][a-z0-9_:]{0,8}", fullmatch=True).filter(lambda name: not name.endswith("_total"))


label_names = st.from_regex(r"[a-z][a-z0-9_]{0,4}", fullmatch=True)


label_values = st.text(
    st.characters(blacklist_categories=["Cs"], blacklist_characters="\r\x00\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029"),
    max_size=12,
)


blanks = st.sampled_from([" ", "  ", "\t"])


numbers = st.one_of(
    st.floats().map(repr),
    st.integers(-(10**20), 10**20).map(str),
    st.sampled_from(["NaN", "+Inf", "-Inf", "1e+06", "1E-3", ".5", "7.", "0", "-0", "+4"]),
)


def escape(value: str) -> str:
    return value.replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')


@st.composite
def sample_lines(draw):
    labels = draw(st.dictionaries(label_names, label_values, max_size=4))
    gap = draw(st.sampled_from(["", " "]))
    inside = f"{gap},{gap}".join(f'{k}{gap}={gap}"{escape(v)}"' for k, v in labels.items())
    braces = "{" + gap + inside + draw(st.sampled_from(["", ","]) if labels else st.just("")) + gap + "}"
    key = draw(names) + (braces if labels else draw(st.sampled_from(["", "{}"])))
    line = draw(st.sampled_from(["", " "])) + key + draw(blanks) + draw(numbers)
    tail = draw(st.sampled_from(["", "", " 1796000015178", " -5"]))
    return line + tail


exemplar_lines = st.builds(
    '{}_bucket{{le="1.0"}} {} # {{trace_id="{}"}} 0.67'.format, names, st.integers(0, 99), st.text("abc", max_size=3)
)


comments = st.one_of(
    st.just(""),
    st.just("# EOF"),
    st.just("   "),
    st.just("#"),
    st.builds("# HELP {} {}".format, names, st.sampled_from(["", "words", 'with "quotes" { and # signs'])),
    st.builds("# TYPE {} {}".format, names, st.sampled_from(["gauge", "histogram", "summary", "untyped"])),
    st.just('# a comment } = " 1'),
)


pages = st.lists(st.one_of(sample_lines(), sample_lines(), exemplar_lines, comments), min_size=1, max_size=12)


@settings(max_examples=300, deadline=None)
@given(st.lists(pages, min_size=1, max_size=3), st.sampled_from(["\n", "\r\n"]), st.booleans())
def test_equals_prometheus_client_on_made_pages(scrapes, newline, ends):
    parser = PageParser()
    for lines in scrapes:
        text = newline.join(lines) + (newline if ends else "")
        wanted = oracle(text)
        if wanted:
            assert_same(read(parser, parser.parse(text.encode())), wanted)
        else:
            with pytest.raises(NotMetrics):
                parser.parse(text.encode())


@settings(max_examples=100, deadline=None)
@given(st.permutations(range(30)), st.sets(st.integers(0, 29)), st.data())
def test_order_and_absence_do_not_matter(order, gone, data):
    lines = [f'm{{k="{k}"}} {k}' for k in range(30)]
    parser = PageParser()
    parser.parse("\n".join(lines).encode())
    left = [lines[k] for k in order if k not in gone] or ["other 1"]
    text = "\n".join(left)
    assert_same(read(parser, parser.parse(text.encode())), oracle(text))
    assert len(parser.keys) <= 31


def test_a_name_that_begins_like_another_is_its_own_series():
    parser = PageParser()
    parser.parse(b'foo\t1\nfoo{a="b"}2\n')
    assert read(parser, parser.parse(b'foobar 3\nfoo{a="b"}4\nfoo 5\n')) == {
        SeriesKey("foobar"): 3,
        SeriesKey("foo", (("a", "b"),)): 4,
        SeriesKey("foo"): 5,
    }


def test_the_last_of_equal_series_wins_and_they_are_counted():
    parser = PageParser()
    page = parser.parse(b'a{x="1",y="2"} 1\nb 7\na{y="2",x="1"} 2\na{x="1",y="2"} 3\n')
    assert read(parser, page) == {SeriesKey("a", (("x", "1"), ("y", "2"))): 3, SeriesKey("b"): 7}
    assert page.duplicates == 2


def test_names_in_quotes():
    parser = PageParser()
    page = parser.parse('{"my.metric",a="b"} 1\nm{"odd label"="é"} 2\n'.encode())
    assert read(parser, page) == {
        SeriesKey("my.metric", (("a", "b"),)): 1,
        SeriesKey("m", (("odd label", "é"),)): 2,
    }


def test_types_follow_the_page():
    parser = PageParser()
    parser.parse(b"# TYPE a gauge\na 1\n")
    assert parser.parse(b"# TYPE a counter\na 1\n# TYPE b histogram\nb_sum 1\n").types == {
        "a": "counter",
        "b": "histogram",
    }


@pytest.mark.parametrize(
    ("page", "says"),
    [
        (HTML, "line 1: the page is HTML"),
        (b"", "the page is empty"),
        (b" \n\n", "the page is empty"),
        (b"# HELP a b\n", "no samples"),
        (b"a 1\n\x00\x01", "line 2: the page is binary"),
        (b'a 1\nb{x="\xff"} 1\n', "line 2: the page is not UTF-8"),
        (b'{"detail":"Not Found"}', "line 1: the page is JSON"),
        (b'\n{ "a\\"b" : [', "line 1: the page is JSON"),
        (b'[{"ts": 1}]', "line 1: the page is JSON"),
        (b"{}\n", "line 1: the page is JSON"),
        (b"Not found\n", "line 1: 'found' is not a number"),
        (b"a 1\n\n# c\nb one\nc 2\n", "line 4: 'one' is not a number"),
        (b"a 1_000\n", "line 1"),
        (b"a 1\nb 1,2\n", "line 2"),
        (b"a 1 2 3\n", "line 1"),
        (b"a 1 x\n", "line 1"),
        (b"a\n", "line 1"),
        (b'a{x="1"\n', "line 1"),
        (b'a{x="1" y="2"} 1\n', "line 1: no comma"),
        (b'a{x="1",x="2"} 1\n', "line 1: label 'x' twice"),
        (b"a{x=1} 1\n", "line 1"),
        (b"a{x} 1\n", "line 1"),
        (b'a{"b"} 1\n', "line 1: the metric's name twice"),
        (b"{} 1\n", "line 1: no metric name"),
        (b"9a 1\n", "line 1"),
        (b"# TYPE a\na 1\n", "line 1: a TYPE line without a type"),
    ],
)
def test_what_is_no_page_is_refused_by_line(page, says):
    with pytest.raises(NotMetrics) as refused:
        PageParser().parse(page)
    assert says in refused.value.message
    assert refused.value.hint


def test_the_line_of_an_error_is_right_on_later_pages():
    parser = PageParser()
    parser.parse(b"# HELP a x\na 1\n# HELP b x\nb 1\n")
    with pytest.raises(NotMetrics, match="line 4: 'x' is not a number in 'b x'"):
        parser.parse(b"# HELP a x\na NaN\n# HELP b x\nb x\n")
    assert read(parser, parser.parse(b"a 2\nb 3\n")) == {SeriesKey("a"): 2, SeriesKey("b"): 3}


def test_over_the_size_limit_is_refused(monkeypatch):
    with pytest.raises(TooLarge, match="over the 67 MB"):
        PageParser().parse(b"a 1\n" * (17 * 1024 * 1024))
    monkeypatch.setattr(exposition, "MAX_SERIES", 3)
    with pytest.raises(TooLarge, match="more than 3"):
        PageParser().parse(b"a 1\nb 1\nc 1\nd 1\n")


def test_a_page_of_50_mb_is_read():
    line = b'm{k="%07d",text="' + b"x" * 480 + b'"} 1\n'
    page = b"".join(line % k for k in range(100_000))
    assert len(page) > 50e6
    assert len(PageParser().parse(page).ids) == 100_000


def test_hostile_labels_do_not_backtrack():
    for body in (
        b'x="' + b"\\" * 200_000,
        b'x="' + b'\\"' * 200_000,
        b"x" * 200_000 + b"=",
        b" " * 200_000 + b"!",
        b"," * 200_000,
    ):
        with pytest.raises(NotMetrics):
            PageParser().parse(b"a{" + body + b"} 1\n")


def test_bytes_are_not_shown():
    with pytest.raises(NotMetrics) as refused:
        PageParser().parse(b"a 1\n\x00\x01")
    assert refused.value.message == "line 2: the page is binary"
