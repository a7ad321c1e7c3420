"""Images that requests bring: prepared once as long as the cache has room, again where it has not."""

from __future__ import annotations

import pytest

from whystall.emulator.engine.content import OwnContent
from whystall.emulator.engine.request import Request
from whystall.emulator.server.media import Media


class Counted:
    """Stands for the meters: what was counted."""

    def __init__(self) -> None:
        self.seen: dict[str, float] = {}

    def count(self, name: str, by: float) -> None:
        self.seen[name] = self.seen.get(name, 0.0) + by


def prepared(media: Media, requests: int) -> tuple[float, dict[str, float]]:
    meters = Counted()
    spent = sum(media.prepare(Request(n, 10, 1, OwnContent(None, 0)), meters) for n in range(1, requests + 1))  # type: ignore[arg-type]
    return spent, meters.seen


def test_what_has_room_is_prepared_once() -> None:
    spent, seen = prepared(Media(20, 20, 0.1), 2000)
    assert spent == pytest.approx(20 * 0.1)
    assert seen == {"mm_cache_queries": 2000, "mm_cache_hits": 1980}


def test_a_quarter_of_the_room_finds_about_a_quarter() -> None:
    spent, seen = prepared(Media(20, 5, 0.1), 4000)
    assert seen["mm_cache_hits"] / 4000 == pytest.approx(0.25, abs=0.05)
    assert spent == pytest.approx(0.1 * (4000 - seen["mm_cache_hits"]))


def test_without_room_each_is_prepared_anew() -> None:
    assert prepared(Media(20, 0, 0.1), 50) == (pytest.approx(5.0), {"mm_cache_queries": 50})
