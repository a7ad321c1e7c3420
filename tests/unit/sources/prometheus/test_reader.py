from collections.abc import Callable

import msgspec
import numpy as np
import pytest
from aiohttp import web

from servers import http_server
from whystall.errors import AccessDenied, NotMetrics, TooLittleData, Unavailable, UsageError
from whystall.model.recording import SeriesKey, SeriesTable
from whystall.sources.live.access import Access
from whystall.sources.prometheus.hardware import beside, place_of, selectors
from whystall.sources.prometheus.matrix import Samples
from whystall.sources.prometheus.question import parse_question
from whystall.sources.prometheus.reader import read_prometheus

RUNNING = {"__name__": "vllm:num_requests_running", "instance": "a:8000", "job": "vllm", "engine": "0"}


def answered(*result: object, status: int = 200, **more: object) -> web.Response:
    body = {"status": "success", "data": {"resultType": "matrix", "result": list(result)}} | more
    return web.Response(body=msgspec.json.encode(body), status=status, content_type="application/json")


def query(request: web.Request) -> str:
    return request.query.get("query", "")


def refused(kind: str, text: str) -> web.Response:
    body = {"status": "error", "errorType": kind, "error": text}
    return web.Response(body=msgspec.json.encode(body), status=422, content_type="application/json")


async def read(give: Callable[[web.Request], web.StreamResponse], seconds: float = 60.0) -> dict:
    async def handler(request: web.Request) -> web.StreamResponse:
        return answered() if "node_load1" in query(request) or "Hostname=" in query(request) else give(request)

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
    assert asked == [500.0, 1000.0]  # a small answer makes the next piece longer
    assert len(found["a:8000"].metrics.times) == 2


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


async def test_gpu_and_host_of_the_engines_own_machine() -> None:
    def series(name: str, value: str, instance: str, **labels: str) -> dict:
        metric = {"__name__": name, "instance": instance, **labels}
        return {"metric": metric, "values": [[990.0, value], [1000.0, value]]}

    async def handler(request: web.Request) -> web.StreamResponse:
        asked = query(request)
        if "num" not in asked and "vllm" in asked:
            return answered({"metric": RUNNING, "values": [[990.0, "3"], [1000.0, "4"]]})
        if 'instance=~"(a)(:[0-9]+)?"' in asked:
            own = {"gpu": "0", "UUID": "GPU-1", "modelName": "H200"}
            return answered(series("DCGM_FI_DEV_GPU_UTIL", "70", "a:9400", **own), series("node_load1", "3", "a:9100"))
        if "Hostname=" in asked:
            return answered(series("DCGM_FI_DEV_GPU_UTIL", "5", "b:9400", gpu="0", UUID="GPU-2", Hostname="b"))
        return answered()

    async with http_server(handler) as base:
        found = await read_prometheus(parse_question(f"prometheus+{base}?job=vllm&end=1000"), 20, Access(), "p")
    recording = found["a:8000"]
    assert recording.gpu is not None
    assert recording.gpu.util_ratio.tolist() == pytest.approx([0.7, 0.7])
    assert recording.host is not None
    assert recording.host.load1.tolist() == [3.0, 3.0]


def test_a_pods_own_gpu_and_not_its_neighbours() -> None:
    def key(name: str, pod: str, gpu: str) -> SeriesKey:
        labels = {"exported_pod": pod, "exported_namespace": "llm", "gpu": gpu, "Hostname": "n1", "namespace": "gpu"}
        return SeriesKey(name, tuple(sorted(labels.items())))

    samples = Samples()
    samples.add("n1:9400", key("DCGM_FI_DEV_GPU_UTIL", "vllm-0", "0"), np.array([1.0]), np.array([90.0]))
    samples.add("n1:9400", key("DCGM_FI_DEV_GPU_UTIL", "vllm-1", "1"), np.array([1.0]), np.array([10.0]))
    labels = (("namespace", "llm"), ("node", "n1"), ("pod", "vllm-1"))
    engine = SeriesTable(np.zeros(1), (SeriesKey("vllm:num_requests_running", labels),), np.zeros((1, 1)))
    place = place_of("10.0.0.3:8000", engine)
    assert beside(samples, place).values.tolist() == [[10.0]]
    assert any('exported_pod=~"vllm\\\\-1"' in one for one in selectors([place]))
