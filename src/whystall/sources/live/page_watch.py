"""One page of metrics watched for a while, with nothing beside it."""

from __future__ import annotations

from whystall.model.recording import SeriesTable
from whystall.sources.table import TableBuilder

from .access import Access
from .address import Address
from .clock import Clock
from .http import Session
from .scraper import Scraper


async def watch_page(address: Address, access: Access, seconds: float, interval_s: float) -> SeriesTable:
    """All series of ``/metrics`` at ``address`` over ``seconds``; the first scrape must succeed and raises otherwise."""
    async with Session(address, access) as session:
        scraper = Scraper(session, Clock(), interval_s, seconds)
        table = TableBuilder(scraper.parser)
        scrapes = scraper.scrapes()
        try:
            async for scrape in scrapes:
                if scrape.page is None:
                    table.fail(scrape.t, scrape.error)
                else:
                    table.add(scrape.t, scrape.page)
        finally:
            await scrapes.aclose()
        return table.table()
