import asyncio
from itertools import count

from aiohttp import web

from servers import counter_page, http_server
from whystall.service.scraping import LONGEST_PAUSE_S, PATIENT, Scraping
from whystall.service.target import WatchTarget


class Taken:
    def __init__(self) -> None:
        self.told: asyncio.Queue[tuple[str, ...]] = asyncio.Queue()

    def page(self, name, t, page, keys) -> None:
        self.told.put_nowait(("page", name))

    def failed(self, name, t, error, text) -> None:
        self.told.put_nowait(("failed", error, text))

    def facts(self, name, facts) -> None:
        self.told.put_nowait(("facts", facts.version))


def scraping(url: str, taker: Taken, interval_s: float = 0.05) -> Scraping:
    return Scraping(WatchTarget("a", url), interval_s, taker, chance=lambda: 0.5)


async def heard(url: str, wanted: int) -> list[tuple[str, ...]]:
    taker = Taken()
    task = asyncio.create_task(scraping(url, taker).run())
    found = [await taker.told.get() for _ in range(wanted)]
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    return found


async def test_pages_come_and_after_a_failure_come_again():
    number = count()

    async def handler(request: web.Request) -> web.Response:
        if request.path != "/metrics":
            raise web.HTTPNotFound
        return web.Response(text=counter_page(100.0), status=503 if next(number) in (2, 3) else 200)

    async with http_server(handler) as url:
        kinds = [each[0] for each in await heard(url, 8)]
    assert kinds.count("failed") == 2
    assert "page" in kinds[kinds.index("failed") + 2 :]


async def test_a_wrong_token_is_named():
    async def handler(_request: web.Request) -> web.Response:
        return web.Response(status=401)

    async with http_server(handler) as url:
        (found,) = await heard(url, 1)
    assert found[1] == "AccessDenied"
    assert "401" in found[2]


def test_pauses_grow_up_to_a_minute():
    one = scraping("http://127.0.0.1:1", Taken(), interval_s=5)
    pauses = []
    for _ in range(PATIENT + 8):
        one._failed("Unreachable", "")
        pauses.append(one.pause())
    assert pauses[:PATIENT] == [5.0] * PATIENT
    assert pauses[PATIENT : PATIENT + 3] == [10.0, 20.0, 40.0]
    assert pauses[-1] == LONGEST_PAUSE_S
