import pytest

from whystall.profiles.spans import Span, summarise_spans

MS = 1_000_000


def request(n: int, queue_s: float = 0.01, e2e_ms: int = 1000) -> Span:
    latency = {"time_to_first_token": 0.2 + queue_s, "time_in_queue": queue_s, "time_in_model_prefill": 0.15}
    attributes: dict[str, str | float] = {f"gen_ai.latency.{key}": value for key, value in latency.items()}
    attributes |= {"gen_ai.latency.time_in_model_decode": 0.7, "gen_ai.request.id": f"r{n}"}
    return Span(f"t{n}", f"s{n}", "", "llm_request", n * MS, (n + e2e_ms) * MS, "", attributes)


def test_a_waterfall() -> None:
    (found,) = summarise_spans([request(1)]).requests
    parts = (found.frontend_ns, found.queue_ns, found.prefill_ns, found.decode_ns, found.other_ns)
    assert parts == (50 * MS, 10 * MS, 150 * MS, 700 * MS, 90 * MS)
    assert sum(parts) == found.e2e_ns  # type: ignore[arg-type]


def test_the_tail_is_put_to_the_phase_that_grows() -> None:
    slow = request(200, queue_s=5.0, e2e_ms=6000)
    found = summarise_spans([*(request(n) for n in range(99)), slow])
    assert found.tail_phase == "queue"
    queue = next(phase for phase in found.phases if phase.phase == "queue")
    assert queue.tail_ns == pytest.approx(4.99e9)
    assert queue.tail_share == pytest.approx(4.99 / 5)
    assert found.slowest[0] == "r200"


def test_missing_attributes_stay_missing() -> None:
    found = summarise_spans(
        [Span("t", "s", "", "llm_request", 1, 5, "", {"gen_ai.latency.time_in_queue": float("nan")})]
    )
    assert found.requests[0].queue_ns is None
    assert found.phases == ()
    assert found.tail_phase is None


def test_legacy_names_are_phases_with_folk_thresholds() -> None:
    parts = (
        ("api_server_request", 0, 900),
        ("scheduler_wait", 10, 160),
        ("model_executor", 160, 880),
        ("cuda_kernel", 200, 215),
    )
    found = summarise_spans([Span("t", name, "", name, s * MS + 1, e * MS + 1) for name, s, e in parts])
    (one,) = found.requests
    assert (one.frontend_ns, one.queue_ns, one.decode_ns) == (30 * MS, 150 * MS, 720 * MS)
    assert {note.id for note in found.notes} == {
        "legacy_api_server_request",
        "legacy_scheduler_wait",
        "legacy_cuda_kernel",
        "legacy_model_executor",
    }


def test_start_up_spans_only() -> None:
    found = summarise_spans([Span("t", "s", "", "Load model", 1, 5)])
    assert [note.id for note in found.notes] == ["no_request_spans"]
    assert found.names[0].name == "Load model"
