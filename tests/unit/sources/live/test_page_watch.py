"""A page alone, watched for a while."""

from __future__ import annotations

import pytest

from servers import counter_page, http_server, pages
from whystall.errors import NotMetrics
from whystall.sources.live.access import Access
from whystall.sources.live.address import Address
from whystall.sources.live.page_watch import watch_page

OPEN = Access()


async def test_pages_in_order_and_those_that_failed():
    async with http_server(pages(counter_page(1), counter_page(2), "<html>", counter_page(4))) as base:
        table = await watch_page(Address.parse(base), OPEN, 0.3, 0.1)
    row = [key.name for key in table.keys].index("vllm:generation_tokens_total")
    seen = table.values[row].tolist()
    assert seen[:2] == [1, 2]
    assert seen == sorted(seen)
    assert "NotMetrics" in [failed.error for failed in table.failed]


async def test_the_first_page_must_be_one():
    async with http_server(pages("<html>")) as base:
        with pytest.raises(NotMetrics):
            await watch_page(Address.parse(base), OPEN, 0.1, 0.1)
