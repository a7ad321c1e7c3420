"""A ticket becomes a recording, which the pipeline diagnoses."""

from contextlib import suppress

import pytest

from whystall.errors import TooLittleData
from whystall.pipeline import diagnose
from whystall.sources.files.ticket import read_ticket
from whystall.sources.files.ticket.document import Ticket
from whystall.sources.files.ticket.read import ticket_recording


def answer(symptoms, flags=(), **workload):
    found = diagnose(ticket_recording(Ticket(symptoms=symptoms, workload=workload, flags=flags))).diagnosis
    return found.verdict, [cause.id for cause in found.causes]


def test_seats_bind_by_the_flag_and_the_clients():
    verdict, causes = answer({"ttft_p50_s": 2.5, "e2e_p50_s": 3.5}, ("max_num_seqs 8",), concurrency=32)
    assert (verdict, causes[0]) == ("bottleneck", "seat_cap")


def test_a_server_that_generates_nothing_hangs():
    assert answer({"prompt_tps": 20000, "generation_tps": 0.0}) == ("bottleneck", ["engine_hang"])


def test_a_hop_that_adds_the_time():
    verdict, causes = answer({"direct": {"ttft_s": 0.5}, "gateway": {"ttft_s": 9}})
    assert verdict == "bottleneck"
    assert causes[0] in ("network", "gateway")


def test_a_comparison_names_what_was_compared():
    assert answer({"guided_tps": 3, "plain_tps": 50})[1][0] == "structured_output"


def test_a_difference_that_nothing_explains_is_not_called_healthy():
    assert answer({"fast": {"tps": 32}, "slow": {"tps": 16}}, concurrency=1)[0] == "unknown"


def test_a_queue_that_nothing_counts_is_not_called_healthy():
    rows = [{"running": 26, "waiting": 64, "prompt_tps": 0.0, "generation_tps": 540}] * 3
    assert answer({"log_stats": rows})[0] == "unknown"


def test_a_busy_gpu_without_requests_is_not_called_healthy():
    rows = [{"running": 0, "waiting": 0, "generation_tps": 0.0}] * 4
    assert answer({"log_stats": rows, "gpu_util_pct": [100, 100]})[0] == "unknown"


def test_a_collection_pause_is_read_from_its_length():
    assert answer({"stall_s": 46, "gc_collect_s": 41})[1] == ["gc_pause"]


def test_a_fault_or_a_failed_allocation_is_enough():
    assert answer({"xid": 79})[1][0] == "gpu_fault"
    assert answer({"free_mib": 218, "alloc_mib": 304})[1][0] == "oom"
    with pytest.raises(TooLittleData):
        ticket_recording(Ticket(symptoms={"free_mib": 500, "alloc_mib": 304}))


def test_too_few_numbers_are_refused_with_what_to_state(tmp_path):
    with pytest.raises(TooLittleData) as told:
        ticket_recording(Ticket(symptoms={"tps": 700}))
    assert "running or concurrency" in told.value.hint
    path = tmp_path / "empty.yaml"
    path.write_text("symptoms: {note: slow}\n", encoding="utf-8")
    with pytest.raises(TooLittleData):
        read_ticket(path)


@pytest.mark.parametrize(
    "symptoms",
    [
        {"stall_s": 1e308, "running": 3},
        {"stall_s": -5, "running": 3},
        {"running": 1e300, "tps": 1e-300},
        {"log_stats": [{"running": 1e-9, "generation_tps": 1e-12, "prompt_tps": 1e6}] * 4},
        {"slowdown": {"a": [None, {"b": []}]}, "rss_gib": [{}, "x"], "rows": [[], 3], "by_lora": [{}, {}]},
    ],
)
def test_no_shape_or_size_of_a_ticket_ends_in_a_traceback(symptoms):
    with suppress(TooLittleData):
        assert answer(symptoms, concurrency=-1)[0] in ("healthy", "bottleneck", "unknown")
