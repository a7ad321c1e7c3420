import json
from pathlib import Path

import pytest
from google.protobuf.json_format import ParseDict
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from whystall.errors import NotATrace
from whystall.profiles.recognise import recognise
from whystall.profiles.span_files import (
    parse_otlp_protobuf,
    read_jaeger,
    read_otlp_json,
    read_otlp_protobuf,
    read_zipkin,
)
from whystall.profiles.spans import summarise_spans

START = 1_796_003_058_895_478_784
ATTRIBUTES = [
    {"key": "gen_ai.latency.time_in_queue", "value": {"doubleValue": 0.25}},
    {"key": "gen_ai.usage.prompt_tokens", "value": {"intValue": "93"}},
    {"key": "gen_ai.request.id", "value": {"stringValue": "cmpl-1"}},
    {"key": "streamed", "value": {"boolValue": True}},
]
SPAN = {
    "traceId": "5d0765e56324eb88d37c9b044cdd5e05",
    "spanId": "e4e10dba7649c6f6",
    "name": "llm_request",
    "startTimeUnixNano": str(START),
    "endTimeUnixNano": str(START + 10**9),
    "attributes": ATTRIBUTES,
}
RESOURCE = {"attributes": [{"key": "service.name", "value": {"stringValue": "vllm"}}]}
EXPORT = {"resourceSpans": [{"resource": RESOURCE, "scopeSpans": [{"spans": [SPAN]}]}]}


def put(folder: Path, content: bytes | str) -> Path:
    path = folder / "spans"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def check(found) -> None:
    (span,), warnings = found
    assert (span.name, span.start_ns, span.duration_ns) == ("llm_request", START, 10**9)
    assert (span.service, span.trace_id, span.span_id) == ("vllm", SPAN["traceId"], SPAN["spanId"])
    assert span.attributes["gen_ai.latency.time_in_queue"] == 0.25
    assert span.attributes["gen_ai.usage.prompt_tokens"] == 93
    assert warnings == ()
    assert summarise_spans([span]).requests[0].queue_ns == 250_000_000


@pytest.mark.parametrize("text", [json.dumps(EXPORT), json.dumps([EXPORT]), json.dumps(EXPORT, indent=2)])
def test_otlp_json(tmp_path: Path, text: str) -> None:
    path = put(tmp_path, text)
    assert recognise(path) == "otlp"
    check(read_otlp_json(path))


def test_otlp_lines_of_which_the_last_is_cut_off(tmp_path: Path) -> None:
    line = json.dumps(EXPORT)
    spans, warnings = read_otlp_json(put(tmp_path, f"{line}\n{line}\n{line[:80]}"))
    assert (len(spans), [warning.id for warning in warnings]) == (2, ["invalid_json_rejected"])


def test_otlp_protobuf(tmp_path: Path) -> None:
    import base64

    body = json.loads(json.dumps(EXPORT))
    span = body["resourceSpans"][0]["scopeSpans"][0]["spans"][0]
    span.update({key: base64.b64encode(bytes.fromhex(SPAN[key])).decode() for key in ("traceId", "spanId")})
    path = put(tmp_path, ParseDict(body, ExportTraceServiceRequest()).SerializeToString())
    assert recognise(path) == "otlp_protobuf"
    check(read_otlp_protobuf(path))
    assert parse_otlp_protobuf(b"\x0a\xff\xff") is None
    assert parse_otlp_protobuf(b"") is None


def test_jaeger(tmp_path: Path) -> None:
    span = {
        "traceID": SPAN["traceId"],
        "spanID": "2",
        "operationName": "llm_request",
        "startTime": START // 1000,
        "duration": 10**6,
        "references": [{"refType": "CHILD_OF", "traceID": "x", "spanID": "1"}],
        "tags": [{"key": "gen_ai.latency.time_in_queue", "type": "float64", "value": 0.25}],
        "processID": "p1",
    }
    path = put(tmp_path, json.dumps({"data": [{"spans": [span], "processes": {"p1": {"serviceName": "vllm"}}}]}))
    assert recognise(path) == "jaeger"
    (found,), _ = read_jaeger(path)
    assert (found.parent_id, found.service, found.duration_ns) == ("1", "vllm", 10**9)
    assert summarise_spans([found]).requests[0].queue_ns == 250_000_000


@pytest.mark.parametrize("nested", [False, True])
def test_zipkin(tmp_path: Path, nested: bool) -> None:
    span = {
        "traceId": "t",
        "id": "2",
        "name": "llm_request",
        "timestamp": START // 1000,
        "duration": 10**6,
        "localEndpoint": {"serviceName": "vllm"},
        "tags": {"gen_ai.latency.time_in_queue": "0.25", "gen_ai.request.id": "123"},
    }
    path = put(tmp_path, json.dumps([[span]] if nested else [span]))
    assert recognise(path) == "zipkin"
    (found,), _ = read_zipkin(path)
    request = summarise_spans([found]).requests[0]
    assert (request.queue_ns, request.request_id) == (250_000_000, "123")


def test_spans_without_times_are_counted(tmp_path: Path) -> None:
    body = json.loads(json.dumps(EXPORT))
    body["resourceSpans"][0]["scopeSpans"][0]["spans"].append({"name": "x", "startTimeUnixNano": "soon"})
    spans, warnings = read_otlp_json(put(tmp_path, json.dumps(body)))
    assert (len(spans), [warning.id for warning in warnings]) == (1, ["events_without_time"])


@pytest.mark.parametrize("reader", [read_otlp_json, read_otlp_protobuf, read_jaeger, read_zipkin])
def test_other_content_is_a_clear_error(tmp_path: Path, reader) -> None:
    with pytest.raises(NotATrace):
        reader(put(tmp_path, '{"a": 1'))


def test_real_spans(shared: Path) -> None:
    spans, warnings = read_otlp_json(shared / "recordings/cpu_traced/spans.jsonl.gz")
    assert (len(spans), warnings) == (89, ())
    assert len(summarise_spans(spans).requests) == 78
