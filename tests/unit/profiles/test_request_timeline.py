from pathlib import Path

import pytest

from chrome_trace import BASE_US, annotation, call, document, kernel, render, write
from whystall.errors import UsageError
from whystall.profiles.kineto import read_kineto
from whystall.profiles.linked import LinkedTrace, link
from whystall.profiles.request_timeline import find_request, join_request
from whystall.profiles.spans import Span

BASE = 1_790_857_026_000_000_000
ZERO = BASE + BASE_US * 1000


def traces(folder: Path, **header) -> list[LinkedTrace]:
    events = []
    for n, name in enumerate(("context_1(9)_generation_0", "context_0(0)_generation_1", "context_0(0)_generation_1")):
        at = 1000 * n
        events += [annotation(f"execute_{name}({n and 1})", at, 100), call("cudaLaunchKernel", at + 1, 1, n)]
        events.append(kernel("flash_fwd", at + 50, 200, n))
    return [link(read_kineto(write(folder, render(document(events, **header)))))]


def span(id: str, start_us: int, end_us: int, queue_s: float = 0.0, prefill_s: float = 0.0003) -> Span:
    latency = {"time_to_first_token": queue_s + prefill_s, "time_in_queue": queue_s, "time_in_model_prefill": prefill_s}
    attributes: dict[str, str | float] = {f"gen_ai.latency.{key}": value for key, value in latency.items()}
    attributes |= {"gen_ai.latency.time_in_model_decode": 0.001, "gen_ai.request.id": id}
    return Span(f"t-{id}", "s", "", "llm_request", ZERO + start_us * 1000, ZERO + end_us * 1000, "", attributes)


def test_the_steps_and_kernels_of_a_request(tmp_path: Path) -> None:
    request = find_request([span("cmpl-1", -10, 1500), span("cmpl-2", 0, 1)], "cmpl-1")
    found = join_request(request, traces(tmp_path, baseTimeNanoseconds=BASE))
    assert [(entry.step.phase, entry.during) for entry in found.steps] == [("prefill", "prefill"), ("decode", "decode")]
    assert found.steps[0].start_ns == 10_000
    assert (found.gpu_ns, found.families[0].id) == (400_000, "attention")


def test_time_in_the_queue_is_no_part_in_a_step(tmp_path: Path) -> None:
    request = find_request([span("a", 0, 3000, queue_s=0.0009)], "a")
    found = join_request(request, traces(tmp_path, baseTimeNanoseconds=BASE))
    assert [entry.step.index for entry in found.steps] == [1, 2]


def test_clear_errors(tmp_path: Path) -> None:
    spans = [span("abc1", 0, 9), span("abc2", 0, 99)]
    with pytest.raises(UsageError, match="2 requests") as error:
        find_request(spans, "abc")
    assert "abc2, abc1" in error.value.hint
    with pytest.raises(UsageError, match="no request"):
        find_request(spans, "zzz")
    request = find_request(spans, "t-abc1")
    with pytest.raises(UsageError, match="no base time"):
        join_request(request, traces(tmp_path))
    with pytest.raises(UsageError, match="no step"):
        join_request(find_request([span("x", 10**6, 10**6 + 5)], "x"), traces(tmp_path, baseTimeNanoseconds=BASE))
