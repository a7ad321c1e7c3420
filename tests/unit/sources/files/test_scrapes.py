"""Cutting a metrics file into its scrapes."""

import pytest

from recorded_text import T0, scraped
from whystall.errors import TooLarge
from whystall.sources import exposition
from whystall.sources.files.scrapes import Scrape, scrapes


def test_scrapes_are_cut_at_any_piece():
    text = (scraped(0) + scraped(1) + f"# scrape {T0 + 2} failed X\n" + scraped(3)).encode()
    whole = list(scrapes([text]))
    assert [scrape.t for scrape in whole] == [T0, T0 + 1, T0 + 2, T0 + 3]
    assert whole[2] == Scrape(T0 + 2, b"", "X")
    for size in (1, 3, 7, 64, 200):
        assert list(scrapes(text[at : at + size] for at in range(0, len(text), size))) == whole


def test_a_marker_within_a_line_is_none():
    (scrape,) = scrapes([b'# HELP a x # scrape 5\na{b="# scrape 3"} 1\n'])
    assert scrape.t is None


def test_a_page_that_does_not_end_is_refused_before_it_is_whole(monkeypatch):
    monkeypatch.setattr(exposition, "MAX_PAGE_BYTES", 1000)
    given = []

    def pieces():
        for number in range(100):
            given.append(number)
            yield b"a 1\n" * 25

    with pytest.raises(TooLarge):
        list(scrapes(pieces()))
    assert len(given) == 11


@pytest.mark.parametrize(
    "time", ["1764465000", "1764465000.0", "1764465000000", "1764465000000000", "1764465000000000000", "1.764465e9"]
)
def test_a_time_in_another_unit_is_the_same_time(time: str) -> None:
    (scrape,) = scrapes([f"# scrape {time}\na 1\n".encode()])
    assert scrape.t == pytest.approx(1764465000)


def test_a_time_with_its_zone() -> None:
    (scrape,) = scrapes([b"# scrape 2025-11-30T09:10:00+08:00\na 1\n"])
    assert scrape.t == 1764465000


@pytest.mark.parametrize("time", ["1e300", "-5", "nan", "inf", "0", "2025-11-30T09:10:00", "9" * 400, "soon"])
def test_a_time_that_no_calendar_has_is_a_failed_scrape(time: str) -> None:
    (scrape,) = scrapes([f"# scrape {time}\na 1\n".encode()])
    assert scrape.t is None
    assert scrape.error


@pytest.mark.parametrize("before", [b"# by our own script\n", b"\xef\xbb\xbf", b"\n\n", b"# EOF\n"])
def test_what_says_nothing_before_the_first_marker_is_no_scrape(before: bytes) -> None:
    found = list(scrapes([before + (scraped(0) + scraped(1)).encode()]))
    assert [scrape.t for scrape in found] == [T0, T0 + 1]


def test_the_rest_of_a_page_before_the_first_marker_is_cut() -> None:
    first, *others = scrapes([b"a 1\nb 2\n" + (scraped(0) + scraped(1)).encode()])
    assert first == Scrape(None, b"", whole=False)
    assert [scrape.t for scrape in others] == [T0, T0 + 1]
