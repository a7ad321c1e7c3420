import asyncio

import pytest
from aiohttp import web

from servers import counter_page, http_server, pages
from whystall.errors import NotMetrics, TooLittleData
from whystall.sources.live.address import Address
from whystall.sources.live.clock import Clock
from whystall.sources.live.http import Session
from whystall.sources.live.scraper import SKIPPED, Scrape, Scraper


async def scraped(handler, interval_s: float = 0.02, seconds: float = 0.1) -> list[Scrape]:
    async with http_server(handler) as url, Session(Address.parse(url)) as session:
        return [scrape async for scrape in Scraper(session, Clock(), interval_s, seconds).scrapes()]


def clocked(*clocks: float):
    """A stepwise server: each page has the next clock, then it has ended."""
    left = list(clocks)

    async def handler(request: web.Request) -> web.Response:
        head = {"X-Whystall-Clock": f"{left[0]}", "X-Whystall-Speed": "step"}
        if len(left) == 1:
            return web.Response(status=410, headers=head)
        return web.Response(text=counter_page(left.pop(0)), headers=head)

    return handler


async def test_a_window_has_a_scrape_at_both_ends() -> None:
    found = await scraped(pages(counter_page(1)), interval_s=0.02, seconds=0.1)
    ended = [scrape.t for scrape in found]
    assert len(found) == 6
    assert ended == sorted(ended)
    assert ended[-1] - ended[0] > 0.09


async def test_the_servers_clock_is_the_pages_time_and_its_window() -> None:
    found = await scraped(clocked(*range(100, 200)), interval_s=1, seconds=10)
    assert [scrape.t for scrape in found] == [float(t) for t in range(100, 111)]


async def test_a_replay_that_ends_ends_the_scraping() -> None:
    assert len(await scraped(clocked(100, 101, 102), interval_s=1, seconds=60)) == 2


async def test_a_replay_that_has_ended_says_so() -> None:
    with pytest.raises(TooLittleData, match="has come to its end") as told:
        await scraped(clocked(100))
    assert "--loop" in told.value.hint


async def test_410_of_a_server_without_a_clock_is_a_failure() -> None:
    bodies = iter([web.Response(text=counter_page(1)), *(web.Response(status=410) for _ in range(20))])

    async def handler(request: web.Request) -> web.Response:
        return next(bodies)

    found = await scraped(handler)
    assert {scrape.error for scrape in found[1:]} - {SKIPPED} == {"Unavailable"}


async def test_a_clock_that_stands_gives_one_page() -> None:
    async def handler(request: web.Request) -> web.Response:
        return web.Response(text=counter_page(1), headers={"X-Whystall-Clock": "100", "X-Whystall-Speed": "step"})

    assert [scrape.t for scrape in await scraped(handler, interval_s=1, seconds=5)] == [100.0]


async def test_a_page_that_turns_into_html_is_a_failure_but_the_first_is_raised() -> None:
    found = await scraped(pages(counter_page(1), "<html>", counter_page(2)))
    assert [scrape.error for scrape in found if scrape.error != SKIPPED][:3] == ["", "NotMetrics", ""]
    with pytest.raises(NotMetrics):
        await scraped(pages("<html>", counter_page(1)))


@pytest.mark.parametrize("second", [1.0, 9e10])
async def test_a_clock_that_jumps_neither_hangs_nor_floods(second: float) -> None:
    clocks = iter([1e6, second, *(1e6 + n for n in range(2, 99))])

    async def handler(request: web.Request) -> web.Response:
        return web.Response(
            text=counter_page(1), headers={"X-Whystall-Clock": f"{next(clocks)}", "X-Whystall-Speed": "1"}
        )

    found = await asyncio.wait_for(scraped(handler, interval_s=0.02, seconds=0.1), 20)
    assert 1 <= len(found) <= 6
