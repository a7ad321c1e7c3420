"""OTLP exports to request spans."""

import math

from recorded_text import T0, lines, scraped, warned, write
from whystall.sources.files.recording import read_recording


def test_spans(tmp_path):
    attributes = [
        {"key": "gen_ai.request.id", "value": {"stringValue": "r1"}},
        {"key": "gen_ai.latency.time_in_queue", "value": {"doubleValue": 0.25}},
        {"key": "gen_ai.usage.prompt_tokens", "value": {"intValue": "93"}},
        {"key": "gen_ai.latency.e2e", "value": {"arrayValue": {}}},
    ]
    span = {
        "name": "llm_request",
        "startTimeUnixNano": f"{T0:.0f}000000000",
        "endTimeUnixNano": f"{T0 + 2:.0f}000000000",
    }
    spans = [
        span | {"attributes": attributes},
        span | {"name": "Worker init"},
        span | {"endTimeUnixNano": "x"},
        {"name": "llm_request"},
    ]
    write(tmp_path, scraped(0))
    write(tmp_path, lines({"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]}, "{"), "spans.jsonl")
    found = read_recording(tmp_path)
    (row_,) = found.spans
    assert (row_.start, row_.end, row_.request_id, row_.queue_s, row_.prompt_tokens) == (T0, T0 + 2, "r1", 0.25, 93)
    assert math.isnan(row_.e2e_s)
    assert math.isnan(row_.ttft_s)
    assert "bad_lines" in warned(found)


def test_adapters_and_tenants_are_named_where_a_span_does(tmp_path):
    attributes = [
        {"key": key, "value": {"stringValue": text}} for key, text in (("tenant.id", "a"), ("lora_name", "b"))
    ]
    span = {
        "name": "llm_request",
        "startTimeUnixNano": f"{T0:.0f}000000000",
        "endTimeUnixNano": f"{T0 + 2:.0f}000000000",
    }
    write(tmp_path, scraped(0))
    write(
        tmp_path,
        lines({"resourceSpans": [{"scopeSpans": [{"spans": [span | {"attributes": attributes}]}]}]}),
        "spans.jsonl",
    )
    (row,) = read_recording(tmp_path).spans
    assert (row.tenant, row.adapter) == ("a", "b")
