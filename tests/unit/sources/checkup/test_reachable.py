from collections.abc import AsyncIterator, Callable

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from whystall.sources.checkup.reachable import Reached, newer_names, reachable
from whystall.sources.live.address import Address
from whystall.sources.live.http import Session

PAGE = 'vllm:num_requests_running{engine="0"} 1\nvllm:kv_cache_usage_perc{engine="0"} 0.5\nprocess_open_fds 3\n'


@pytest.fixture
async def ask() -> AsyncIterator[Callable[..., object]]:
    """Serves some paths with a status and a body, and asks that server everything."""
    servers: list[TestServer] = []

    async def asked(answers: dict[str, tuple[int, str]]) -> Reached:
        async def answer(request: web.Request) -> web.Response:
            status, body = answers.get(request.path, (404, ""))
            return web.Response(status=status, text=body)

        app = web.Application()
        app.router.add_get("/{path:.*}", answer)
        server = TestServer(app, host="127.0.0.1")
        await server.start_server()
        servers.append(server)
        async with Session(Address.parse(f"http://127.0.0.1:{server.port}")) as session:
            return await reachable(session)

    yield asked
    for server in servers:
        await server.close()


def states(reached: Reached) -> dict[str, str]:
    return {check.id: check.state for check in reached.checks}


async def test_a_whole_server(ask) -> None:
    reached = await ask(
        {
            "/metrics": (200, PAGE),
            "/version": (200, '{"version": "0.26.0"}'),
            "/health": (200, ""),
            "/v1/models": (200, "{}"),
            "/server_info": (200, "{}"),
        }
    )
    assert set(states(reached).values()) == {"ok"}
    assert (reached.version, reached.config, len(reached.keys)) == ("0.26.0", True, 3)
    assert "vLLM names of 0.9.2" in reached.checks[0].text.en


async def test_what_is_missing_says_what_gives_it(ask) -> None:
    reached = await ask({"/metrics": (200, PAGE), "/v1/models": (401, "")})
    assert states(reached) == {
        "/metrics": "ok",
        "/version": "missing",
        "/health": "missing",
        "/v1/models": "missing",
        "/server_info": "missing",
    }
    hints = {check.id: check.how.en for check in reached.checks}
    assert "token" in hints["/v1/models"]
    assert "--log" in hints["/server_info"]
    assert (reached.version, reached.config) == ("", False)


async def test_rays_names(ask) -> None:
    reached = await ask({"/metrics": (200, "ray_vllm_num_requests_running 1\n")})
    assert reached.checks[0].text.en.startswith("Ray names")


async def test_another_program(ask) -> None:
    reached = await ask({"/metrics": (200, "node_load1 0.5\n")})
    assert states(reached)["/metrics"] == "failed"
    assert "known engine" in reached.checks[0].text.en


@pytest.mark.parametrize("page", [(200, "<html></html>"), (401, ""), (200, ""), (503, "")])
async def test_no_page(ask, page: tuple[int, str]) -> None:
    reached = await ask({"/metrics": page})
    assert (states(reached)["/metrics"], reached.keys) == ("failed", ())
    assert reached.checks[0].how.en


@pytest.mark.parametrize("body", ["no json", "[1]", '{"version": 3}', "{}"])
async def test_a_version_that_cannot_be_read(ask, body: str) -> None:
    assert (await ask({"/metrics": (200, PAGE), "/version": (200, body)})).version == ""


async def test_nothing_there(free_port) -> None:
    async with Session(Address.parse(f"http://127.0.0.1:{free_port()}")) as session:
        reached = await reachable(session)
    assert states(reached) == {"/metrics": "failed"}


async def test_names_of_a_newer_version(ask) -> None:
    reached = await ask({"/metrics": (200, PAGE + "vllm:from_the_future 1\n")})
    assert newer_names(reached.keys) == ("vllm:from_the_future",)
