from __future__ import annotations

import pytest
from aiohttp import web

from language_models import language_model, saying
from whystall.errors import AccessDenied, Unavailable, UsageError
from whystall.sources.live.access import Access
from whystall.sources.live.language_model import LanguageModel, endpoint


@pytest.mark.parametrize("path", ["", "/", "/v1", "/v1/", "/v1/chat/completions", "/v1/completions"])
def test_the_endpoint_however_it_is_written(path):
    assert endpoint(f"http://host:8000{path}").base == "http://host:8000"


def test_a_path_before_it_stays():
    assert endpoint("https://gateway/llm/v1").base == "https://gateway:443/llm"


async def ask(url: str, name: str = "") -> tuple[str, str]:
    return await LanguageModel(endpoint(url), Access(token="k"), name).answer("be brief", "why?")


async def test_it_asks_once_at_temperature_0():
    with language_model(saying("because")) as model:
        assert await ask(model.url) == ("tiny-model", "because")
        assert await ask(model.url, "other") == ("other", "because")
    first = model.asked[0]
    assert (first["temperature"], first["stream"], first["model"]) == (0, False, "tiny-model")
    assert [message["role"] for message in first["messages"]] == ["system", "user"]


@pytest.mark.parametrize(
    ("reply", "error"),
    [
        (lambda _: web.Response(status=403), AccessDenied),
        (lambda _: web.Response(status=503), Unavailable),
        (lambda _: web.json_response([]), Unavailable),
        (saying(""), Unavailable),
    ],
)
async def test_what_is_no_answer_is_an_error_by_name(reply, error):
    with language_model(reply) as model, pytest.raises(error):
        await ask(model.url)


def test_an_address_that_is_none():
    with pytest.raises(UsageError):
        endpoint("ftp://x")
