"""OTLP exports to request spans."""

import math

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recorded_text import T0, lines, scraped, warned, write
from whystall.model.recording import SpanRow
from whystall.sources.files.recording import read_recording
from whystall.sources.spans import ExportRow, request_spans, span_export


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


_FIGURE = st.floats(0, 1e6) | st.just(math.nan)


@given(
    st.lists(
        st.builds(
            SpanRow,
            start=st.floats(1e9, 2e9),
            end=st.floats(2e9, 3e9),
            request_id=st.text(max_size=20),
            **dict.fromkeys(("ttft_s", "e2e_s", "queue_s", "prefill_s", "decode_s"), _FIGURE),
            prompt_tokens=_FIGURE,
            output_tokens=_FIGURE,
            adapter=st.text(max_size=20),
            tenant=st.text(max_size=20),
        ),
        max_size=5,
    )
)
def test_rows_come_back_from_their_export(rows: list[SpanRow]) -> None:
    body = msgspec.json.encode(span_export(rows))
    found = list(request_spans(msgspec.json.decode(body, type=ExportRow)))
    for row, back in zip(rows, found, strict=True):
        assert (row.request_id, row.adapter, row.tenant) == (back.request_id, back.adapter, back.tenant)
        for name in ("start", "end", "ttft_s", "e2e_s", "queue_s", "prefill_s", "decode_s", "output_tokens"):
            assert getattr(back, name) == pytest.approx(getattr(row, name), abs=1e-5, nan_ok=True)
