import pytest
from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer

from whystall.errors import UsageError
from whystall.service.guard import Guard, is_loopback, require_token


async def ask(guard: Guard, path: str = "/api/fleet", **headers: str) -> tuple[int, str]:
    app = web.Application(middlewares=[guard.middleware])

    async def answer(_request: web.Request) -> web.Response:
        return web.Response(text="fine")

    app.router.add_get("/{path:.*}", answer)
    async with TestClient(TestServer(app)) as client, client.get(path, headers=headers) as response:
        assert "frame-ancestors 'none'" in response.headers["Content-Security-Policy"]
        return response.status, await response.text()


async def test_this_host_needs_no_token():
    assert (await ask(Guard()))[0] == 200


async def test_another_name_bound_to_this_host_is_refused():
    assert (await ask(Guard(), Host="evil.example:9400"))[0] == 403


@pytest.mark.parametrize("sent", [{}, {"Authorization": "Bearer wrong"}, {"Cookie": "whystall_session=wrong"}])
async def test_without_the_token_nothing_is_told(sent):
    status, text = await ask(Guard("right"), **sent)
    assert status == 401
    assert "fine" not in text
    assert "right" not in text


async def test_the_token_or_its_session_opens():
    guard = Guard("right")
    assert (await ask(guard, Authorization="Bearer right"))[0] == 200
    assert (await ask(guard, Cookie=f"whystall_session={guard.session}"))[0] == 200
    assert "right" not in guard.session


async def test_health_is_open():
    assert (await ask(Guard("right"), "/healthz"))[0] == 200


def test_the_world_needs_a_token():
    with pytest.raises(UsageError, match=r"0\.0\.0\.0"):
        require_token("0.0.0.0", "")
    require_token("0.0.0.0", "secret")
    require_token("127.0.0.1", "")


@pytest.mark.parametrize(
    ("host", "ours"), [("localhost", True), ("[::1]", True), ("127.9.9.9", True), ("10.0.0.1", False)]
)
def test_loopback_names(host, ours):
    assert is_loopback(host) is ours
