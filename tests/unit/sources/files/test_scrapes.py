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
