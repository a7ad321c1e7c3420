"""Who holds the KV cache: sums by hand, sources in their order, names where they are told."""

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scenes import CALM, scene_of
from whystall.evidence.holders import Requests, kv_token_seconds, prefill_tokens, who
from whystall.evidence.scene import Scene
from whystall.model.configuration import LogEvent
from whystall.model.recording import Sender, SpanRow

LOSS = {"seconds": 30, "waiting": 20, "queue_s": 4.0}


def requests(*rows: tuple[float, float, float, float, float]) -> Requests:
    """Rows of admitted, first, end, prompt, output."""
    columns = [np.array(column, dtype=float) for column in zip(*rows, strict=True)]
    nobody = ("",) * len(rows)
    return Requests("spans", *columns, nobody, nobody, nobody)


def test_the_area_under_a_requests_tokens() -> None:
    """100 prompt tokens for 10 s, and 50 output tokens that grow over the last 8 of them: 1000 + 8 * 50 / 2."""
    found = requests((0, 2, 10, 100, 50))
    assert kv_token_seconds(found, 0, 20) == pytest.approx([1200])
    assert kv_token_seconds(found, 0, 1) == pytest.approx([100])
    assert kv_token_seconds(found, 10, 20) == pytest.approx([0])
    assert prefill_tokens(found, 0, 1) == pytest.approx([50])
    assert prefill_tokens(found, 2, 20) == pytest.approx([0])


times = st.floats(0, 100, allow_nan=False)


@given(times, times, times, st.floats(1, 1e5), st.floats(0, 1e4), times)
def test_parts_of_a_window_add_up(a: float, b: float, c: float, prompt: float, output: float, cut: float) -> None:
    admitted, first, end = sorted((a, b, c))
    found = requests((admitted, first, end, prompt, output))
    whole = kv_token_seconds(found, 0, 100)[0]
    parts = kv_token_seconds(found, 0, cut)[0] + kv_token_seconds(found, cut, 100)[0]
    assert parts == pytest.approx(whole, rel=1e-6, abs=1e-3)
    assert whole <= (prompt + output) * (end - admitted) + 1e-3


def with_spans(*spans: SpanRow, events: tuple[LogEvent, ...] = ()) -> Scene:
    scene = scene_of(CALM, LOSS)
    return Scene(msgspec.structs.replace(scene.state, spans=spans, events=events))


def span(id: str, prompt: float, start: float = 22.0, **names: str) -> SpanRow:
    at = scene_of(CALM).state.start + start
    return SpanRow(at, at + 20, id, 4.0, 20.0, 2.0, 2.0, 16.0, prompt, 100.0, **names)


def test_spans_name_requests_lengths_and_tenants() -> None:
    found = who(with_spans(span("big", 9000, tenant="a"), span("small", 100, tenant="b"), span("mid", 900, tenant="b")))
    assert found is not None
    assert found.source == "spans"
    kinds = {kind: [h.name for h in found.holders if h.kind == kind] for kind in ("request", "lengths", "tenant")}
    assert kinds["request"][0] == "big"
    assert kinds["lengths"][0] == "4097-16384"
    assert kinds["tenant"] == ["a", "b"]
    assert found.holders[0].kv_ratio == pytest.approx(0.9, abs=0.03)
    assert not any(h.kind == "adapter" for h in found.holders)


def test_the_log_names_the_adapter_of_an_id_and_the_served_model_is_none() -> None:
    line = (
        "Received request big: params: SamplingParams(n=1), lora_request: LoRARequest(lora_name='sql', lora_int_id=1)."
    )
    scene = with_spans(
        span("big", 9000), span("x", 9000, adapter="m"), events=(LogEvent("request_received", None, line),)
    )
    found = who(scene)
    assert found is not None
    assert [h.name for h in found.holders if h.kind == "adapter"] == ["sql"]


def test_the_clients_rows_stand_in_and_name_senders() -> None:
    scene = scene_of({**CALM, "client": {}}, {**LOSS, "client": {}})
    client = scene.state.client
    assert client is not None
    senders = tuple(Sender(f"r{n}", "", "a" if n % 2 else "b") for n in range(len(client.rows.sent)))
    rows = msgspec.structs.replace(client.rows, sender=senders)
    found = who(Scene(msgspec.structs.replace(scene.state, client=msgspec.structs.replace(client, rows=rows))))
    assert found is not None
    assert found.source == "client"
    assert {h.name for h in found.holders if h.kind == "tenant"} == {"a", "b"}
    plain = who(scene)
    assert plain is not None
    assert {h.kind for h in plain.holders} == {"lengths"}


def test_lengths_alone_from_the_page() -> None:
    found = who(scene_of(CALM, {**LOSS, "prompt": [[0.9, 100], [0.1, 9000]]}))
    assert found is not None
    assert (found.source, found.holders[0].kv_ratio) == ("metrics", None)
    assert found.holders[0].name == "4097-16384"
    assert found.holders[0].prefill_ratio > 0.8
    assert who(scene_of({**CALM, "running": 0, "rate": 0.0})) is None
