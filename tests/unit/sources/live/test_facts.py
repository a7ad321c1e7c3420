from aiohttp import web

from servers import http_server
from whystall.sources.live.address import Address
from whystall.sources.live.clock import Clock
from whystall.sources.live.facts import ServerFacts, read_facts, read_health
from whystall.sources.live.http import Session


async def read(handler) -> ServerFacts:
    async with http_server(handler) as url, Session(Address.parse(url)) as session:
        return await read_facts(session)


async def test_what_answers_is_kept_as_it_came() -> None:
    async def handler(request: web.Request) -> web.Response:
        if request.path == "/v1/models":
            raise web.HTTPUnauthorized
        return web.Response(text=request.path_qs)

    assert await read(handler) == ServerFacts("/version", "", "/server_info?config_format=json")


async def test_an_old_server_knows_no_json_form() -> None:
    async def handler(request: web.Request) -> web.Response:
        if request.path != "/server_info" or request.query_string:
            raise web.HTTPBadRequest
        return web.Response(text="text form")

    assert await read(handler) == ServerFacts(server_info="text form")


async def test_a_gateways_own_page_is_no_fact() -> None:
    async def handler(request: web.Request) -> web.Response:
        return web.Response(text="<html>welcome</html>")

    assert await read(handler) == ServerFacts()


async def test_health_is_its_status_and_0_where_nothing_answers(free_port) -> None:
    async def handler(request: web.Request) -> web.Response:
        return web.Response(status=503)

    async with http_server(handler) as url, Session(Address.parse(url)) as session:
        assert (await read_health(session, Clock())).status == 503
    async with Session(Address.parse(f":{free_port()}")) as session:
        assert (await read_health(session, Clock())).status == 0
