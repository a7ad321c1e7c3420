from collections.abc import Callable

import msgspec
import pytest
from aiohttp import web

from servers import http_server
from whystall.errors import AccessDenied, NotMetrics, TooLittleData, Unavailable, UsageError
from whystall.sources.live.access import Access
from whystall.sources.prometheus.question import parse_question
from whystall.sources.prometheus.reader import read_prometheus

RUNNING = {"__name__": "vllm:num_requests_running", "instance": "a:8000", "job": "vllm", "engine": "0"}


def answered(*result: object, status: int = 200, **more: object) -> web.Response:
    body = {"status": "success", "data": {"resultType": "matrix", "result": list(result)}} | more
    return web.Response(body=msgspec.json.encode(body), status=status, content_type="application/json")


def refused(kind: str, text: str) -> web.Response:
    body = {"status": "error", "errorType": kind, "error": text}
    return web.Response(body=msgspec.json.encode(body), status=422, content_type="application/json")


async def read(give: Callable[[web.Request], web.StreamResponse], seconds: float = 60.0) -> dict:
    async def handler(request: web.Request) -> web.StreamResponse:
        return give(request)

    async with http_server(handler) as base:
        question = parse_question(f"prometheus+{base}?job=vllm&end=1000")
        return await read_prometheus(question, seconds, Access(timeout_s=5), "p")


async def test_the_samples_as_they_were_scraped() -> None:
    def give(request: web.Request) -> web.StreamResponse:
        assert request.query["query"].endswith('job="vllm"}[60000ms]')
        assert request.query["time"] == "1000.000"
        return answered({"metric": RUNNING, "values": [[990.25, "3"], [995.25, "4"]]})

    found = await read(give)
    assert list(found) == ["a:8000"]
    assert found["a:8000"].metrics.times.tolist() == [990.25, 995.25]


async def test_a_long_time_is_read_in_pieces() -> None:
    asked: list[float] = []

    def give(request: web.Request) -> web.StreamResponse:
        asked.append(float(request.query["time"]))
        return answered({"metric": RUNNING, "values": [[asked[-1] - 1, "3"]]})

    found = await read(give, seconds=800)
    assert asked == [500.0, 800.0, 1000.0]
    assert len(found["a:8000"].metrics.times) == 3


async def test_a_piece_that_is_too_much_is_halved() -> None:
    def give(request: web.Request) -> web.StreamResponse:
        if "[300000ms]" in request.query["query"]:
            return refused("execution", "query processing would load too many samples")
        return answered({"metric": RUNNING, "values": [[float(request.query["time"]), "1"]]})

    found = await read(give, seconds=300)
    assert found["a:8000"].metrics.times.tolist() == [850.0, 1000.0]


@pytest.mark.parametrize(
    ("response", "error", "said"),
    [
        (lambda: web.Response(status=401), AccessDenied, "credentials"),
        (lambda: web.Response(text='{"status":"succ'), NotMetrics, "half an answer"),
        (
            lambda: web.Response(text="<html>log in</html>", content_type="text/html"),
            NotMetrics,
            "no answer of a Prometheus",
        ),
        (lambda: web.Response(status=503, text="starting"), Unavailable, "503"),
        (lambda: answered(), TooLittleData, "no series of a vLLM server"),
        (lambda: refused("bad_data", "parse error"), UsageError, "parse error"),
        (lambda: refused("execution", "disk"), Unavailable, "disk"),
        (lambda: answered(data={"resultType": "vector", "result": []}), NotMetrics, "vector"),
    ],
)
async def test_bad_answers_are_handled_by_name(response: Callable, error: type, said: str) -> None:
    with pytest.raises(error, match=said) as caught:
        await read(lambda request: response())
    assert caught.value.message
