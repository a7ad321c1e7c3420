"""The emulated server over real HTTP: what clients send, and what they do wrong."""

from __future__ import annotations

import asyncio
import gzip
import json
from pathlib import Path

import aiohttp
import pytest
from aiohttp import web
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from emulated import emulator, total


def body(tokens: int = 50, prompt: int = 100, **more: object) -> dict[str, object]:
    return {"model": "m", "prompt": list(range(10, 10 + prompt)), "max_tokens": tokens, "ignore_eos": True, **more}


async def page(session: aiohttp.ClientSession, url: str) -> str:
    async with session.get(f"{url}/metrics") as answer:
        return await answer.text()


async def test_a_stream_has_a_chunk_a_token_and_its_end() -> None:
    async with emulator(speed=20) as (url, _), aiohttp.ClientSession() as session:
        ask = body(30, stream=True, stream_options={"include_usage": True})
        async with session.post(f"{url}/v1/completions", json=ask) as answer:
            lines = [line.decode().strip() async for line in answer.content if line.strip()]
        assert lines[-1] == "data: [DONE]"
        chunks = [json.loads(line.removeprefix("data: ")) for line in lines[:-1]]
        assert chunks[-1]["usage"]["completion_tokens"] == 30
        assert [c["choices"][0]["finish_reason"] for c in chunks[:-1]] == [None] * 29 + ["length"]
        async with session.post(f"{url}/v1/completions", json=body(30)) as answer:
            whole = await answer.json()
        assert whole["usage"] == {"prompt_tokens": 100, "total_tokens": 130, "completion_tokens": 30}


async def test_a_chat_and_what_is_asked_of_the_server() -> None:
    async with emulator(speed=20) as (url, _), aiohttp.ClientSession() as session:
        chat = {"model": "m", "messages": [{"role": "user", "content": "Why?"}], "max_tokens": 8, "stream": True}
        async with session.post(f"{url}/v1/chat/completions", json=chat) as answer:
            first = json.loads((await answer.content.readline()).decode().removeprefix("data: "))
            assert first["choices"][0]["delta"]["role"] == "assistant"
            await answer.read()
        for path, status in (("/health", 200), ("/version", 200), ("/load", 200), ("/server_info", 200), ("/no", 404)):
            async with session.get(url + path) as answer:
                assert answer.status == status, path
        async with session.get(f"{url}/v1/models") as answer:
            assert (await answer.json())["data"][0]["max_model_len"] == 4096
        async with session.get(f"{url}/dcgm/metrics") as answer:
            assert "DCGM_FI_DEV_GPU_UTIL" in await answer.text()
        handlers = {
            line.split('"')[1] for line in (await page(session, url)).splitlines() if "http_requests_total{" in line
        }
        assert handlers == {"/v1/chat/completions", "/v1/models", "/dcgm/metrics", "none"}


@pytest.mark.parametrize(
    ("raw", "status"),
    [
        (b"{bad", 400),
        (b"", 400),
        (b"[]", 400),
        (b'{"model": "m"}', 400),
        (b'{"model": "x", "prompt": "a"}', 404),
        (b'{"model": "m", "prompt": "a", "max_tokens": -1}', 400),
        (json.dumps(body(prompt=5000)).encode(), 400),
        (json.dumps(body(tokens=4000)).encode(), 400),
    ],
)
async def test_malformed_and_over_long_requests_get_an_error_that_says_why(raw: bytes, status: int) -> None:
    async with emulator() as (url, _), aiohttp.ClientSession() as session:
        async with session.post(f"{url}/v1/completions", data=raw) as answer:
            assert answer.status == status
            error = (await answer.json())["error"]
        assert error["code"] == status
        assert len(error["message"]) > 10
        async with session.get(f"{url}/health") as answer:
            assert answer.status == 200


async def test_a_client_that_goes_away_frees_what_it_held_and_is_not_counted() -> None:
    async with emulator() as (url, deployment), aiohttp.ClientSession() as session:
        answer = await session.post(f"{url}/v1/completions", json=body(3000, stream=True))
        await answer.content.readline()
        engine = deployment.replicas[0].engine
        assert len(engine.scheduler.running) == 1
        answer.close()
        async with asyncio.timeout(10):
            while engine.scheduler.running:
                await asyncio.sleep(0.02)
        assert engine.scheduler.pool.free_count == 3999
        assert engine.unfinished == 0
        text = await page(session, url)
        assert total(text, "vllm:request_success_total") == 0  # as in vLLM, an abort by disconnect leaves no trace
        assert total(text, "vllm:time_to_first_token_seconds_count") == 1


async def test_two_thousand_clients_at_once() -> None:
    connector = aiohttp.TCPConnector(limit=0)
    async with emulator(speed=50, max_num_seqs=256) as (url, _), aiohttp.ClientSession(connector=connector) as session:

        async def one() -> int:
            async with session.post(f"{url}/v1/completions", json=body(5, prompt=20)) as answer:
                await answer.read()
                return answer.status

        statuses = await asyncio.gather(*(one() for _ in range(2000)))
        assert set(statuses) == {200}
        text = await page(session, url)
        assert total(text, "vllm:request_success_total") == 2000
        assert total(text, "vllm:generation_tokens_total") == 10_000


async def test_admission_control_answers_503_and_counts() -> None:
    async with emulator(max_num_queued_reqs=3) as (url, _), aiohttp.ClientSession() as session:

        async def one() -> int:
            async with session.post(f"{url}/v1/completions", json=body(40)) as answer:
                return answer.status

        statuses = await asyncio.gather(*(one() for _ in range(10)))
        assert statuses.count(503) == 7
        text = await page(session, url)
        assert total(text, "vllm:admission_rejections_total") == 7


async def test_a_faster_clock_says_so_and_is_followed() -> None:
    async with emulator(speed=30, rate=10) as (url, _), aiohttp.ClientSession() as session:
        clocks, tokens = [], []
        for _ in range(2):
            async with session.get(f"{url}/metrics") as answer:
                clocks.append(float(answer.headers["X-Whystall-Clock"]))
                tokens.append(total(await answer.text(), "vllm:generation_tokens_total"))
            await asyncio.sleep(0.5)
        assert clocks[1] - clocks[0] >= 15
        rate = (tokens[1] - tokens[0]) / (clocks[1] - clocks[0])
        assert 800 < rate < 3500  # ten requests a second of 100 to 300 tokens


async def test_a_dead_engine_answers_errors_and_health_503() -> None:
    async with emulator(faults=("engine_dead",)) as (url, _), aiohttp.ClientSession() as session:
        async with session.get(f"{url}/health") as answer:
            assert answer.status == 503
        async with session.post(f"{url}/v1/completions", json=body()) as answer:
            assert answer.status == 500


async def test_spans_reach_a_collector() -> None:
    got: list[ExportTraceServiceRequest] = []

    async def collect(request: web.Request) -> web.Response:
        got.append(ExportTraceServiceRequest.FromString(await request.read()))
        return web.Response()

    app = web.Application()
    app.router.add_post("/v1/traces", collect)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    port = runner.addresses[0][1]
    try:
        async with emulator(speed=20, spans=f"http://127.0.0.1:{port}/v1/traces") as (url, _):
            async with aiohttp.ClientSession() as session:
                headers = {"X-Request-Id": "abc", "traceparent": f"00-{'1' * 32}-{'2' * 16}-01"}
                async with session.post(f"{url}/v1/completions", json=body(20), headers=headers) as answer:
                    await answer.read()
            async with asyncio.timeout(10):
                while not got:
                    await asyncio.sleep(0.02)
    finally:
        await runner.cleanup()
    span = got[0].resource_spans[0].scope_spans[0].spans[0]
    attributes = {a.key: a.value for a in span.attributes}
    assert (span.name, span.trace_id.hex()) == ("llm_request", "1" * 32)
    assert attributes["gen_ai.usage.completion_tokens"].int_value == 20
    assert attributes["gen_ai.request.id"].string_value == "cmpl-abc-0"
    assert (
        attributes["gen_ai.latency.e2e"].double_value >= attributes["gen_ai.latency.time_to_first_token"].double_value
    )


async def test_a_profiler_window_is_written_and_stalls(tmp_path: Path) -> None:
    async with emulator(speed=20, rate=10, profiles=tmp_path) as (url, _), aiohttp.ClientSession() as session:
        async with session.post(f"{url}/start_profile") as answer:
            assert answer.status == 200
        async with session.post(f"{url}/start_profile") as answer:
            assert answer.status == 409
        await asyncio.sleep(0.3)
        async with session.post(f"{url}/stop_profile") as answer:
            assert answer.status == 200
    (path,) = tmp_path.glob("rank0.*.pt.trace.json.gz")
    events = json.loads(gzip.decompress(path.read_bytes()))["traceEvents"]
    assert any(e["name"].startswith("execute_context_") for e in events)
    assert {e["cat"] for e in events} >= {"kernel", "cuda_runtime", "user_annotation"}
